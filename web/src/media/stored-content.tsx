import { Suspense } from 'react'
import type { StoredMedia } from '../lib/api/media.ts'
import { downloadAt, served } from '../lib/served.ts'
import { bytesText } from '../lib/words.ts'
import { part } from '../ui/part.tsx'
import type { TablePlace } from './compared-table.tsx'
import { Player } from './player.tsx'

const ComparedTable = part(() => import('./compared-table.tsx').then((file) => file.ComparedTable))
const PlotContent = part(() => import('./plot-content.tsx').then((file) => file.PlotContent))
const TextContent = part(() => import('./text-content.tsx').then((file) => file.TextContent))

/** A value that is not an image. */
export function StoredContent(props: {
  media: StoredMedia & { url: string }
  name: string
  caption: string | undefined
  /** What a table is compared with. */
  of: TablePlace
}) {
  const { media, name, caption, of } = props
  return (
    <figure className="flex flex-col gap-1" data-media-type={media._type}>
      {/* As high as most contents, so that little moves when they arrive. */}
      <Suspense fallback={<div className="h-40" />}>
        <Content media={media} name={name} of={of} />
      </Suspense>
      <figcaption className="flex gap-3 text-xs text-muted">
        {caption && <span className="min-w-0 truncate">{caption}</span>}
        <a href={downloadAt(media.url)} download className="hover:text-ink hover:underline">
          Download ({bytesText(media.size)})
        </a>
      </figcaption>
    </figure>
  )
}

function Content(props: { media: StoredMedia & { url: string }; name: string; of: TablePlace }) {
  const { media, name } = props
  switch (media._type) {
    case 'audio':
    case 'video':
      return <Player kind={media._type} url={media.url} name={name} />
    case 'table':
      return <ComparedTable content={media} of={props.of} />
    case 'plot':
      return <PlotContent content={media} name={name} />
    case 'html':
      return <Frame url={media.url} name={name} />
    default:
      return <TextContent content={media} name={name} />
  }
}

/**
 * HTML or SVG of a script: in a frame that runs no scripts and has an origin of its own. The service sends it with a
 * policy that loads nothing.
 */
export const Frame = ({ url, name }: { url: string; name: string }) => (
  <iframe
    title={name}
    sandbox=""
    loading="lazy"
    referrerPolicy="no-referrer"
    src={served(`${url}?frame=true`)}
    className="h-[calc(24rem+var(--more,0px))] w-full rounded-md border border-line bg-white"
  />
)
