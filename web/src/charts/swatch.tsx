import { COLOURS, chooseColour, colourAt, isChosen } from '../lib/charts/colours.ts'
import { useTheme } from '../lib/theme.ts'
import { Button } from '../ui/controls.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'

/** A job's colour; a click opens the colour picker. */
export function Swatch(props: {
  name: string
  colour: string
  off: boolean
  /** Its curve is dashed, because an earlier one has the same colour. */
  isDashed?: boolean
}) {
  const { name, colour, off, isDashed = false } = props
  const theme = useTheme()
  return (
    <PopoverLater
      label={`Colours for ${name}`}
      align="start"
      className="p-2"
      trigger={{
        'aria-label': `Colour of ${name}`,
        className: 'flex size-5 items-center justify-center',
        children: (
          <span
            className={`size-2.5 shrink-0 rounded-full border-2 ${isDashed ? 'border-dotted' : ''}`}
            style={{ borderColor: colour, background: off || isDashed ? 'transparent' : colour }}
          />
        ),
      }}
    >
      {(close) => (
        <>
          <div className="grid grid-cols-8 gap-1">
            {Array.from({ length: COLOURS }, (_, place) => (
              <button
                type="button"
                // biome-ignore lint/suspicious/noArrayIndexKey: colours are identified by their index
                key={place}
                aria-label={`Colour ${place + 1}`}
                className="size-6 rounded border border-line"
                style={{ background: colourAt(place, theme) }}
                onClick={() => {
                  chooseColour(name, place)
                  close()
                }}
              />
            ))}
          </div>
          <p className="max-w-56 py-1 text-xs text-muted">Kept in this browser, for every page.</p>
          {isChosen(name) && (
            <Button
              onClick={() => {
                chooseColour(name, null)
                close()
              }}
            >
              Reset colour
            </Button>
          )}
        </>
      )}
    </PopoverLater>
  )
}
