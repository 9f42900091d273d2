import { HomePartsDocument } from '../../__generated__/graphql.ts'
import { inParts, queryWithCursor } from './graphql.ts'

const PARTS = ['summary', 'running', 'lost', 'hosts'] as const
const read = inParts(PARTS, (_home, wanted) => queryWithCursor(HomePartsDocument, wanted))

/** A part of the home page's data. Parts that are requested when it opens share one request. */
export const homePart = (part: (typeof PARTS)[number]) => read('home', part)
