/** Saved views: a page's filters, columns, charts and colors under a name, private or for a project. */
export { listSavedViews, type SavedViewPosition, savedView } from './reads.ts'
export { AUDIENCES, chosenColors, savedViewFields } from './view-fields.ts'
export { changeView, deleteView, saveView } from './writes.ts'
