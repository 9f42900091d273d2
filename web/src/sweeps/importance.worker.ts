import { type Column, type Importance, importanceOf } from './forest.ts'

/** Computes the forest in a worker, so that the page stays responsive. */

export interface ImportanceRequest {
  id: number
  columns: Column[]
  target: Float64Array
}
export interface ImportanceAnswer {
  id: number
  found: Importance
}

/** The part of the worker's global scope that is used here; the types of pages do not include workers. */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<ImportanceRequest>) => void
  postMessage(answer: ImportanceAnswer): void
}
scope.onmessage = ({ data: { id, columns, target } }) => {
  scope.postMessage({ id, found: importanceOf(columns, target) })
}
