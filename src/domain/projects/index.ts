export { createProjects, loadProjects } from './for-ingest.ts'
export { maySee, maySendEvents, type ProjectAccess, type Role, roleIn, type Visibility } from './project.ts'
