/** Choices of a page's address to change: `undefined` takes one out, what is not named stays. */
export type SearchChange<Search> = { [Name in keyof Search]?: Search[Name] | undefined }

/** The choices after a change, without those that it takes out. */
export const changed = <Search extends object>(search: Search, change: SearchChange<Search>): Search =>
  // Undefined values are removed, which the type of `Object.fromEntries` does not express.
  Object.fromEntries(
    Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined),
  ) as Search
