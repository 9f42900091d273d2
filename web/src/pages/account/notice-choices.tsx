import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type NoticeChoices as Choices, choose, fetchChoices } from '../../lib/api/notices.ts'
import { errorText } from '../../lib/api/request.ts'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Section } from './section.tsx'

const KEY = ['notice-choices']
const TEXTS: readonly (readonly [keyof Choices, string])[] = [
  ['rules', 'Rules that send me messages'],
  ['comments', 'Comments on my runs and reports'],
  ['mentions', 'Comments that mention me'],
  ['mention_mail', 'Mail when a comment mentions me'],
]

/** What the bell has, and whether mentions are mailed. */
export function NoticeChoices() {
  const queries = useQueryClient()
  const choices = useQuery({ queryKey: KEY, queryFn: fetchChoices })
  const change = useMutation({
    mutationFn: choose,
    onSuccess: (chosen) => queries.setQueryData(KEY, chosen),
    onSettled: (_chosen, _error, sent) =>
      setClicked((now) => Object.fromEntries(Object.entries(now).filter(([name]) => !(name in sent)))),
  })
  // A click counts at once: React would reset the box before the mutation is pending. Several may wait for answers.
  const [clicked, setClicked] = useState<Partial<Choices>>({})
  const shown = choices.data && { ...choices.data, ...clicked }
  return (
    <Section title="Notices">
      {shown === undefined ? (
        choices.isPending && <Waiting rows={2} />
      ) : (
        <div className="flex flex-col gap-1.5">
          {TEXTS.map(([name, text]) => (
            <label key={name} className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={shown[name]}
                onChange={(event) => {
                  const next = { [name]: event.target.checked }
                  setClicked((now) => ({ ...now, ...next }))
                  change.mutate(next)
                }}
              />
              {text}
            </label>
          ))}
        </div>
      )}
      {(choices.error ?? change.error) && <Failure>{errorText(choices.error ?? change.error)}</Failure>}
    </Section>
  )
}
