/** Saved views: a page's filters, columns, charts and colors under a name, private or for a project. */
export { countSavedViews, listSavedViews, savedView } from './reads.ts'
export { AUDIENCES, chosenColors, type SavedView, savedViewFields } from './view-fields.ts'
export { changeView, deleteView, saveView } from './writes.ts'
