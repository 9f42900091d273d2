/** All public links of a project in one list: those to its batches and those to its reports. */

export { type ProjectLink, projectLinkFields } from './link-fields.ts'
export { linksOfProjects, listLinks } from './reads.ts'
