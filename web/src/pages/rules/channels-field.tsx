import { useState } from 'react'
import type { Channel, ChannelKind, ChannelWish } from '../../lib/api/rules.ts'
import { Button, Choice, Field } from '../../ui/controls.tsx'
import { CHANNELS } from './words.ts'

/** A channel in the form: a stored one, or one that is being added. */
export interface ChannelDraft {
  /** Distinguishes the drafts of one form. */
  key: string
  id: string | null
  kind: Exclude<ChannelKind, 'mail'>
  /** The part of the stored URL that is shown. */
  shown: string | null
  hasSecret: boolean
  url: string
  secret: string
}

export const draftsOf = (channels: readonly Channel[]): ChannelDraft[] =>
  channels.flatMap(({ id, kind, url, has_secret: hasSecret }) =>
    kind === 'mail' ? [] : [{ key: id ?? kind, id, kind, shown: url, hasSecret, url: '', secret: '' }],
  )

/** What is saved: fields that were left empty keep their stored values. */
export const wishOf = ({ id, kind, url, secret }: ChannelDraft): ChannelWish => ({
  ...(id !== null && { id }),
  kind,
  ...(url.trim() !== '' && { url: url.trim() }),
  ...(secret.trim() !== '' && { [kind === 'ntfy' ? 'token' : 'secret']: secret.trim() }),
})

export const isWhole = ({ id, url }: ChannelDraft): boolean => id !== null || url.trim() !== ''

const KINDS = Object.keys(CHANNELS) as ChannelDraft['kind'][]

/** The channels of a rule beside mail. */
export function ChannelsField(props: {
  value: readonly ChannelDraft[]
  onChange: (value: ChannelDraft[]) => void
  /** Whether saving was tried, so that missing fields are marked. */
  asked: boolean
}) {
  const { value, onChange, asked } = props
  const [added, setAdded] = useState(0)
  const put = (key: string, change: Partial<ChannelDraft>): void =>
    onChange(value.map((one) => (one.key === key ? { ...one, ...change } : one)))
  const add = (kind: ChannelDraft['kind']): void => {
    setAdded(added + 1)
    const blank = { id: null, shown: null, hasSecret: false, url: '', secret: '' }
    onChange([...value, { key: `new-${added}`, kind, ...blank }])
  }
  return (
    <div className="flex flex-col gap-2">
      {value.map((channel, n) => (
        <Row
          key={channel.key}
          n={n + 1}
          channel={channel}
          asked={asked}
          onChange={(change) => put(channel.key, change)}
          onRemove={() => onChange(value.filter(({ key }) => key !== channel.key))}
        />
      ))}
      <div className="max-w-56">
        <Choice<'' | ChannelDraft['kind']>
          label="Add a channel"
          value=""
          onChange={(kind) => kind !== '' && add(kind)}
          options={[['', 'Choose …'], ...KINDS.map((kind) => [kind, CHANNELS[kind].title] as const)]}
        />
      </div>
    </div>
  )
}

function Row(props: {
  n: number
  channel: ChannelDraft
  asked: boolean
  onChange: (change: Partial<ChannelDraft>) => void
  onRemove: () => void
}) {
  const { n, channel, asked, onChange, onRemove } = props
  const { title, url, secret, hint } = CHANNELS[channel.kind]
  const missing = asked && !isWhole(channel)
  return (
    <fieldset className="flex flex-col gap-2 rounded-md border border-line px-3 pb-3">
      <legend className="px-1 font-medium">
        {title} {n}
      </legend>
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <Field
            label={`${url} of ${title} ${n}`}
            type="url"
            autoComplete="off"
            spellCheck={false}
            value={channel.url}
            placeholder={channel.shown ?? 'https://'}
            aria-invalid={missing}
            hint={channel.id === null ? hint : 'Empty: as stored. The address is not shown again.'}
            onChange={(event) => onChange({ url: event.target.value })}
          />
        </div>
        <Button look="danger" className="mt-5.5" aria-label={`Remove ${title} ${n}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
      {missing && (
        <p role="alert" className="text-failed">
          Enter the URL.
        </p>
      )}
      {secret !== null && (
        <Field
          label={`${secret.label} of ${title} ${n}`}
          type="password"
          autoComplete="new-password"
          value={channel.secret}
          placeholder={channel.hasSecret ? 'stored' : ''}
          hint={channel.hasSecret ? 'Empty: as stored.' : secret.hint}
          onChange={(event) => onChange({ secret: event.target.value })}
        />
      )}
    </fieldset>
  )
}
