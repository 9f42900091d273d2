/** What a batch is called on the page: its name, else its id. */
export const batchName = (batch: { id: string; name: string | null }): string => batch.name ?? batch.id
