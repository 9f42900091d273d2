const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether the database accepts a text as a uuid. Any other text names no row, so the answer is "not found". */
export const isUuid = (text: string): boolean => UUID.test(text)
