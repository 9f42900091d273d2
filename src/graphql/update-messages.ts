import type { Frame } from '../stream/frame.ts'
import { builder } from './builder.ts'
import { LiveMessage } from './live.ts'
import { BatchUpdateType, LogLinesUpdateType, MetricsUpdateType, ProjectUpdateType } from './updates.ts'

/** The message of GET /api/sse in the updates of each channel, which channels.ts reads. */

const options = {
  type: LiveMessage,
  nullable: true,
  description: 'The change as GET /api/sse sends it; null if several changes were combined',
} as const
const single = (frame: Frame): Frame | null => (frame.merged === undefined ? frame : null)

builder.objectField(BatchUpdateType, 'message', (t) =>
  t.field({ ...options, resolve: ({ frame }) => single(frame) }),
)
builder.objectField(MetricsUpdateType, 'message', (t) =>
  t.field({ ...options, resolve: ({ frame }) => single(frame) }),
)
builder.objectField(LogLinesUpdateType, 'message', (t) => t.field({ ...options, resolve: single }))
builder.objectField(ProjectUpdateType, 'message', (t) => t.field({ ...options, resolve: single }))
