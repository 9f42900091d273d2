export {
  createProjects,
  projectOf,
  projectsForIngest,
  projectVersion,
  type StandingProjectRow,
} from './for-ingest.ts'
export { maySee, maySendEvents, type ProjectAccess } from './project.ts'
export {
  type CreatedPosition,
  listMembers,
  listProjects,
  type Member,
  type MemberPosition,
  type Project,
} from './reads.ts'
export { createProject, removeMember, setMember, setRecipients, updateProject } from './writes.ts'
