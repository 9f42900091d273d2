import { useRef, useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { MediaItem, MediaValue, StoredMedia } from '../lib/api/media.ts'
import { useTheme } from '../lib/theme.ts'
import { bytesText, number, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { Name } from '../ui/name.tsx'
import { LayeredImage } from './layered-image.tsx'
import { StoredContent } from './stored-content.tsx'

/** Values of one job beyond these are shown on request. */
const FIRST_VALUES = 24

export interface Tiles {
  name: string
  unit: string
  /** The width of an image, in pixels. */
  tile: number
  hidden: ReadonlySet<string>
  /** Opens the large view of an image. */
  onOpen: (image: ShownImage) => void
  /** All values of the step, and the steps that have some: what a value can be compared with. */
  items: readonly MediaItem[]
  steps: readonly number[]
}
export interface ShownImage {
  media: StoredMedia & { url: string }
  job: string
  step: number
  index: number
  /** Of all values of the job at the step. */
  of: number
}

/** The images of a step in the order of the page, for the large view. */
export const imagesOf = (items: readonly MediaItem[], jobs: readonly string[]): ShownImage[] =>
  jobs.flatMap((job) =>
    items
      .filter((item) => item.job_id === job)
      .flatMap(({ values, step }) =>
        values.flatMap((media, index): ShownImage[] =>
          isShown(media) ? [{ media, job, step, index, of: values.length }] : [],
        ),
      ),
  )

const isShown = (media: MediaValue): media is StoredMedia & { url: string } =>
  media._type === 'image' && media.uploaded && media.url !== null

/** What a value is called where its script gave no caption. */
export function captionOf(media: StoredMedia): string | undefined {
  const { caption } = media
  return typeof caption === 'string' && caption.trim() !== '' ? caption : undefined
}

export const altOf = (image: ShownImage, name: string, unit: string): string =>
  `${captionOf(image.media) ?? name}, ${image.job}, ${unit} ${number(image.step)}${image.of > 1 ? `, ${image.index + 1} of ${image.of}` : ''}`

/** The values of a step, job by job. */
export function Gallery(
  props: Tiles & {
    jobs: readonly string[]
    /** Each job has its place. Otherwise only those that had a value have. */
    sideBySide: boolean
    step: number
  },
) {
  const { jobs, sideBySide, step, ...tiles } = props
  const { items } = tiles
  const byJob = new Map(items.map((item) => [item.job_id, item]))
  // A job that had a value at another step keeps its place; the others are one line.
  const seen = useRef(new Set<string>())
  for (const job of byJob.keys()) seen.current.add(job)
  const placed = sideBySide ? jobs : jobs.filter((job) => seen.current.has(job))
  const others = jobs.length - placed.length
  return (
    <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
      {placed.map((job) => (
        <JobValues
          key={job}
          {...tiles}
          job={job}
          step={step}
          item={byJob.get(job)}
          alone={jobs.length === 1}
        />
      ))}
      {others > 0 && (
        <p className="w-full text-xs text-muted">
          Nothing at {tiles.unit} {number(step)} from {some(others, 'other job')}.
        </p>
      )}
    </div>
  )
}

function JobValues(
  props: Tiles & { job: string; step: number; item: MediaItem | undefined; alone: boolean },
) {
  const { job, item, alone, step, ...tiles } = props
  const [all, setAll] = useState(false)
  const values = item?.values ?? []
  const shown = all ? values : values.slice(0, FIRST_VALUES)
  const wide = shown.some((one) => one._type !== 'image')
  return (
    <section
      aria-label={`${tiles.name} of ${job}`}
      data-media-job={job}
      className={`flex min-w-0 flex-col gap-1 ${wide ? 'flex-[1_1_22rem] max-sm:w-full max-sm:flex-none' : ''}`}
    >
      {!alone && <JobName job={job} width={wide ? undefined : tiles.tile} />}
      {item === undefined ? (
        <p
          className="flex items-center justify-center rounded-md border border-dashed border-line px-2 text-center text-xs text-muted"
          style={{ width: tiles.tile, height: tiles.tile }}
        >
          Nothing at {tiles.unit} {number(step)}
        </p>
      ) : (
        <ul className="flex flex-wrap items-start gap-2">
          {shown.map((media, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list is the identity of a value over steps
            <li key={index} className={media._type === 'image' ? '' : 'w-full'}>
              <Value {...tiles} job={job} step={item.step} media={media} index={index} of={values.length} />
            </li>
          ))}
        </ul>
      )}
      {values.length > FIRST_VALUES && (
        <Button look="quiet" className="self-start" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST_VALUES}` : `Show all ${number(values.length)}`}
        </Button>
      )}
    </section>
  )
}

function JobName({ job, width }: { job: string; width: number | undefined }) {
  const { colourOf } = useBatchContext()
  const colour = colourOf(job, useTheme())
  return (
    <h4 className="flex items-center gap-1.5 text-xs" style={{ maxWidth: width }} title={job}>
      <span aria-hidden="true" className="size-2.5 shrink-0 rounded-full" style={{ background: colour }} />
      <span className="min-w-0 flex-1 truncate">
        <Name>{job}</Name>
      </span>
    </h4>
  )
}

interface ValueProps extends Tiles {
  job: string
  step: number
  media: MediaValue
  index: number
  of: number
}

function Value(props: ValueProps) {
  const { media, ...rest } = props
  if (media._type === 'histogram') return null
  if (!media.uploaded || media.url === null) return <NotUploaded media={media} tile={rest.tile} />
  const shown = { ...media, url: media.url }
  if (media._type !== 'image')
    return (
      <StoredContent
        media={shown}
        name={`${rest.name} of ${rest.job}`}
        caption={captionOf(media)}
        of={rest}
      />
    )
  return <ImageTile {...rest} media={shown} />
}

function NotUploaded({ media, tile }: { media: StoredMedia; tile: number }) {
  return (
    <figure className="flex flex-col gap-1" style={{ width: tile }}>
      <span
        data-not-uploaded
        className="flex flex-col items-center justify-center gap-1 rounded-md border border-dashed border-line-strong bg-surface p-2 text-center text-xs text-muted"
        style={{ height: media._type === 'image' ? tile : 64 }}
      >
        <span>Not uploaded yet</span>
        <span>{bytesText(media.size)}</span>
      </span>
      <Caption text={captionOf(media)} />
    </figure>
  )
}

function ImageTile(props: Omit<ValueProps, 'media'> & { media: StoredMedia & { url: string } }) {
  const { media, job, step, index, of, tile } = props
  const [broken, setBroken] = useState<string>()
  const image = { media, job, step, index, of }
  const alt = altOf(image, props.name, props.unit)
  return (
    <figure className="media-tile flex flex-col gap-1" style={{ width: tile }}>
      <button
        type="button"
        data-image={index}
        aria-label={`Open ${alt}`}
        className="block overflow-hidden rounded-md border border-line bg-surface hover:border-line-strong"
        style={{ width: tile, height: tile }}
        onClick={() => props.onOpen(image)}
      >
        {broken === media.url ? (
          <span className="text-xs text-muted">This browser cannot show the image</span>
        ) : (
          <LayeredImage
            media={media}
            alt={alt}
            hidden={props.hidden}
            place={tile}
            lazy
            onBroken={() => setBroken(media.url)}
          />
        )}
      </button>
      <Caption text={captionOf(media)} />
    </figure>
  )
}

/** One line, so that rows of images stay in line; the rest is in the large view. */
const Caption = ({ text }: { text: string | undefined }) => (
  <figcaption className="h-4 truncate text-xs text-muted" title={text}>
    {text}
  </figcaption>
)
