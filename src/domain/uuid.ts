const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether text may stand where the database expects a uuid. What is none names nothing, so it is "not found". */
export const isUuid = (text: string): boolean => UUID.test(text)
