import { HomePartsDocument } from '../../__generated__/graphql.ts'
import { inParts, queryWithCursor } from './graphql.ts'

const PARTS = ['summary', 'running', 'lost', 'hosts'] as const
const read = inParts(PARTS, (_home, wanted) => queryWithCursor(HomePartsDocument, wanted))

/** A part of what goes on; what the home page asks when it opens comes in one answer. */
export const homePart = (part: (typeof PARTS)[number]) => read('home', part)
