/** The name of a batch on the page; its id if it has none. */
export const batchName = (batch: { id: string; name: string | null }): string => batch.name ?? batch.id
