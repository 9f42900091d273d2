import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { fetchTable } from '../../lib/api/projects.ts'
import { batchName } from '../../lib/batch-name.ts'
import { fieldsQuery, projectViewsQuery } from '../../lib/queries.ts'
import type { ReportBlock } from '../../lib/report-blocks.ts'
import { mediaKeysOf } from '../../media/media-queries.ts'
import { Choice, inputLook } from '../../ui/controls.tsx'
import { useTyped } from '../../ui/use-typed.ts'

/** The newest batches that a list offers. */
const MAX_BATCHES = 200

type Option = readonly [id: string, name: string]
export interface ReportChoices {
  batches: readonly Option[]
  views: readonly Option[]
  series: readonly string[]
}

/** What the blocks of a report can show. */
export function useReportChoices(project: string): ReportChoices {
  const batches = useQuery({
    queryKey: ['batches for reports', project],
    queryFn: () => fetchTable({ project: [project] }, { limit: MAX_BATCHES }),
  })
  const views = useQuery(projectViewsQuery(project))
  const fields = useQuery(fieldsQuery(project))
  return {
    batches: (batches.data?.items ?? []).map((batch) => [batch.id, batchName(batch)]),
    // Readers of the report do not see private views.
    views: (views.data ?? [])
      .filter((view) => view.audience !== 'private')
      .map((view) => [view.id, view.title]),
    series: fields.data?.series ?? [],
  }
}

/** The choices of one block: its run, series, query or view. */
export function BlockFields(props: {
  block: ReportBlock
  choices: ReportChoices
  onBlock: (block: ReportBlock) => void
}) {
  const { block, choices, onBlock } = props
  switch (block.kind) {
    case 'text':
    case 'wrong':
      return null
    case 'runs':
      return (
        <TextField
          label="Query of the run set"
          value={block.query}
          onText={(query) => onBlock({ ...block, query })}
        />
      )
    case 'view':
      return (
        <OneOf
          label="Saved view"
          options={choices.views}
          value={block.id}
          onId={(id) => onBlock({ ...block, id })}
        />
      )
    default:
      return (
        <>
          <OneOf
            label="Run"
            options={choices.batches}
            value={block.id}
            onId={(id) => onBlock({ ...block, id })}
          />
          {block.kind === 'chart' && (
            <NamesField
              label="Series, separated by commas"
              placeholder="main loss"
              offers={choices.series}
              names={block.series}
              onNames={(series) => onBlock({ ...block, series })}
            />
          )}
          {block.kind === 'media' && (
            <MediaKeys
              batch={block.id}
              names={block.series}
              onNames={(series) => onBlock({ ...block, series })}
            />
          )}
        </>
      )
  }
}

interface Names {
  names: readonly string[]
  onNames: (names: string[]) => void
}

function MediaKeys({ batch, ...names }: Names & { batch: string }) {
  const keys = useQuery(mediaKeysOf(batch))
  const offers = (keys.data ?? []).map(({ key }) => key)
  return (
    <NamesField label="Media keys, separated by commas" placeholder="all media" {...names} offers={offers} />
  )
}

const NamesField = (props: Names & { label: string; placeholder: string; offers: readonly string[] }) => (
  <TextField
    label={props.label}
    placeholder={props.placeholder}
    offers={props.offers}
    value={props.names.join(', ')}
    onText={(text) => props.onNames(text.split(',').flatMap((one) => one.trim() || []))}
  />
)

function OneOf(props: {
  label: string
  options: readonly Option[]
  value: string
  onId: (id: string) => void
}) {
  const { label, options, value, onId } = props
  const known = options.some(([id]) => id === value) || value === ''
  return (
    <Choice
      label={label}
      hideLabel
      value={value}
      options={known ? options : [[value, value], ...options]}
      onChange={onId}
    />
  )
}

/** A field that reports its text once typing pauses, so that embeds do not follow each letter. */
function TextField(props: {
  label: string
  placeholder?: string
  offers?: readonly string[]
  value: string
  onText: (text: string) => void
}) {
  const [text, setText] = useTyped(props.value, props.onText, (typed) => typed.trim())
  const id = useId()
  return (
    <>
      <input
        aria-label={props.label}
        placeholder={props.placeholder}
        list={props.offers && id}
        className={`${inputLook} w-56! max-w-full`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {props.offers && (
        <datalist id={id}>
          {props.offers.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  )
}
