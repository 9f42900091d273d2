/**
 * Reports: Markdown with embedded live runs, charts and tables; they belong to a project, and public links open them.
 */
export {
  countReports,
  listReports,
  mayShare,
  type OpenReport,
  openReport,
  reportById,
  visibleReport,
} from './reads.ts'
export { type Report, reportFields } from './report-fields.ts'
export { changeReport, createReport, deleteReport, linkReport, revokeLinks } from './writes.ts'
