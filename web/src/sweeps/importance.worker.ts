import { type Column, type Importance, importanceOf } from './forest.ts'

/** Grows the forest beside the page, which stays fluent meanwhile. */

export interface ImportanceRequest {
  id: number
  columns: Column[]
  target: Float64Array
}
export interface ImportanceAnswer {
  id: number
  found: Importance
}

/** The part of the global scope that is used here; the types of pages know no workers. */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<ImportanceRequest>) => void
  postMessage(answer: ImportanceAnswer): void
}
scope.onmessage = ({ data: { id, columns, target } }) => {
  scope.postMessage({ id, found: importanceOf(columns, target) })
}
