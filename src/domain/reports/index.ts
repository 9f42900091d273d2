/** Reports: Markdown with live runs, charts and tables embedded; written into a project, and opened by public links. */
export { listReports, openReport, type ReportPosition, reportById } from './reads.ts'
export { reportFields } from './report-fields.ts'
export { changeReport, createReport, deleteReport, linkReport, revokeLinks } from './writes.ts'
