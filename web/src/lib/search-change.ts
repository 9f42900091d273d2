/** A change of search parameters: `undefined` removes one, parameters that are not named stay. */
export type SearchChange<Search> = { [Name in keyof Search]?: Search[Name] | undefined }

/** The search parameters after a change, without the removed ones. */
export const changed = <Search extends object>(search: Search, change: SearchChange<Search>): Search =>
  // Undefined values are removed, which the type of `Object.fromEntries` does not express.
  Object.fromEntries(
    Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined),
  ) as Search
