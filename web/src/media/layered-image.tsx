import { useEffect, useRef, useState } from 'react'
import type { StoredMedia } from '../lib/api/media.ts'
import { COLOURS, colourAt } from '../lib/charts/colours.ts'
import { served } from '../lib/served.ts'
import { useTheme } from '../lib/theme.ts'
import { type Box, layersOf, type Mask, placeOfName } from './layers.ts'

/** Larger than this on the screen, the pixels of a small image are shown as squares. */
const MAGNIFIED = 2
/** Masks of more pixels are drawn smaller. */
const MAX_MASK_PIXELS = 4_000_000

/** The widths that the service makes smaller copies of (src/domain/files/thumbnails.ts). */
const WIDTHS = [160, 320, 640]

/** The address of a copy that is large enough for the place, if the image is much larger. */
function smallerAt(url: string, natural: number, place: number): string {
  const width = WIDTHS.find((one) => one >= place * devicePixelRatio)
  return width === undefined || natural < 1.5 * width ? url : `${url}?width=${width}`
}

/** An image with its boxes and masks, as large as its box allows. */
export function LayeredImage(props: {
  media: StoredMedia & { url: string }
  alt: string
  hidden: ReadonlySet<string>
  /** How wide its place is, in pixels: a smaller copy is enough for it. Without it the image itself is shown. */
  place?: number
  /** Load it when it is near the screen. */
  lazy?: boolean
  onBroken?: () => void
  /** Whether labels of boxes are written. */
  labels?: boolean
}) {
  const { media, alt, hidden } = props
  const ref = useRef<HTMLImageElement>(null)
  const [size, setSize] = useState<[number, number]>()
  const [sharp, setSharp] = useState(false)
  const { boxes, masks } = layersOf(
    size === undefined || typeof media.width === 'number'
      ? media
      : { ...media, width: size[0], height: size[1] },
  )
  // Boxes in pixels need the size of the image itself, which only it has if its sender gave none.
  const address =
    props.place !== undefined && typeof media.width === 'number'
      ? smallerAt(media.url, media.width, props.place)
      : media.url
  const shown = boxes.filter((box) => !hidden.has(box.layer))
  return (
    <span className="relative block size-full">
      <img
        ref={ref}
        src={served(address)}
        alt={alt}
        loading={props.lazy ? 'lazy' : 'eager'}
        decoding="async"
        draggable={false}
        className="absolute inset-0 size-full object-contain"
        style={sharp ? { imageRendering: 'pixelated' } : undefined}
        onLoad={({ currentTarget: at }) => {
          setSize([at.naturalWidth, at.naturalHeight])
          setSharp(
            at.clientWidth > MAGNIFIED * at.naturalWidth && at.clientHeight > MAGNIFIED * at.naturalHeight,
          )
        }}
        onError={props.onBroken}
      />
      {size !== undefined && (
        <>
          {masks.map(
            (mask) =>
              !hidden.has(mask.layer) &&
              mask.url !== null && <MaskLayer key={mask.layer} mask={mask} url={mask.url} />,
          )}
          {shown.length > 0 && <BoxLayer boxes={shown} size={size} labels={props.labels ?? false} />}
        </>
      )}
    </span>
  )
}

function BoxLayer(props: { boxes: readonly Box[]; size: readonly [number, number]; labels: boolean }) {
  const [width, height] = props.size
  const theme = useTheme()
  // Text and lines keep their size on the screen, so the labels are placed in a second pass by CSS, not by the view box.
  const letter = Math.max(width, height) / 36
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${width} ${height}`}
      className="pointer-events-none absolute inset-0 size-full"
    >
      {props.boxes.map((box, i) => {
        const colour = colourAt(placeOfName(box.label.replace(/ [\d.]+$/, ''), COLOURS), theme)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: boxes have no identity
          <g key={i}>
            <rect
              x={box.x * width}
              y={box.y * height}
              width={box.width * width}
              height={box.height * height}
              fill="none"
              stroke={colour}
              strokeWidth={2}
              vectorEffect="non-scaling-stroke"
            />
            {props.labels && box.label !== '' && (
              <text
                x={box.x * width}
                y={Math.max(letter, box.y * height - letter / 4)}
                fontSize={letter}
                fill={colour}
                stroke="var(--bg)"
                strokeWidth={letter / 5}
                paintOrder="stroke"
              >
                {box.label}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

/** Paints the classes of a mask. */
function MaskLayer({ mask, url }: { mask: Mask; url: string }) {
  const ref = useRef<HTMLCanvasElement>(null)
  const theme = useTheme()
  const { labels } = mask
  // biome-ignore lint/correctness/useExhaustiveDependencies: labels are new at each render, and the same for one address
  useEffect(() => {
    const image = new Image()
    let wanted = true
    image.decoding = 'async'
    image.onload = () => {
      const canvas = ref.current
      if (wanted && canvas !== null)
        paintMask(canvas, image, (id) => colourAt(placeOfName(labels.get(id) ?? String(id), COLOURS), theme))
    }
    image.src = served(url)
    return () => {
      wanted = false
    }
  }, [url, theme])
  return (
    <canvas ref={ref} className="pointer-events-none absolute inset-0 size-full object-contain opacity-55" />
  )
}

function paintMask(
  canvas: HTMLCanvasElement,
  image: HTMLImageElement,
  colourOf: (id: number) => string,
): void {
  const scale = Math.min(
    1,
    Math.sqrt(MAX_MASK_PIXELS / Math.max(1, image.naturalWidth * image.naturalHeight)),
  )
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale))
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale))
  const context = canvas.getContext('2d', { willReadFrequently: true })
  if (context === null) return
  context.imageSmoothingEnabled = false
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height)
  const { data } = pixels
  const colours = new Map<number, [number, number, number]>()
  for (let i = 0; i < data.length; i += 4) {
    const id = data[i] ?? 0
    let colour = colours.get(id)
    if (colour === undefined) {
      colour = channelsOf(colourOf(id))
      colours.set(id, colour)
    }
    ;[data[i], data[i + 1], data[i + 2]] = colour
    data[i + 3] = id === 0 ? 0 : 255
  }
  context.putImageData(pixels, 0, 0)
}

/** Of `#rrggbb`. */
const channelsOf = (hex: string): [number, number, number] => [
  Number.parseInt(hex.slice(1, 3), 16),
  Number.parseInt(hex.slice(3, 5), 16),
  Number.parseInt(hex.slice(5, 7), 16),
]
