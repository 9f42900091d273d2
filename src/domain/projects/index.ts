export {
  createProjects,
  ownedProjects,
  projectOf,
  projectsForIngest,
  projectVersion,
  type StoredProjectRow,
} from './for-ingest.ts'
export { normalProjectName, projectNameFault, projectNameKey, projectNameTaken } from './name.ts'
export { fillNameKeys } from './name-keys.ts'
export { maySee, maySendEvents, type ProjectAccess, projectQuota } from './project.ts'
export { type MemberView, memberFields, type ProjectView, projectFields } from './project-fields.ts'
export {
  type CreatedPosition,
  listMembers,
  listProjects,
  type ProjectRow,
  projectView,
} from './reads.ts'
export { createProject, removeMember, setRecipients, updateProject } from './writes.ts'
