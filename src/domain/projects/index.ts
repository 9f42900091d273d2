export { createProjects, loadProjects } from './for-ingest.ts'
export { maySee, maySendEvents, type ProjectAccess } from './project.ts'
