export { createProjects, projectOf, projectsForIngest, type StandingProjectRow } from './for-ingest.ts'
export { maySee, maySendEvents, type ProjectAccess } from './project.ts'
