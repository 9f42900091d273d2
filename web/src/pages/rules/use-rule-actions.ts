import { useMutation, useQueryClient } from '@tanstack/react-query'
import { errorText } from '../../lib/api/request.ts'
import { changeRule, createRule, deleteRule, type Rule, type Rules, testRule } from '../../lib/api/rules.ts'
import { ownRulesQuery, rulesQuery } from '../../lib/project-queries.ts'
import { showToast } from '../../ui/toasts.tsx'
import { type Recipients, ruleName } from './words.ts'

/** Switches a rule on and off, sends a test of it, and deletes it. Says in a note how each went. */
export function useRuleActions(rule: Rule, { mail: to, all: places, hasChannels }: Recipients) {
  const name = ruleName(rule)
  const queries = useQueryClient()
  const { queryKey } = (rule.personal ? ownRulesQuery : rulesQuery)(rule.project)
  const refresh = () => queries.invalidateQueries({ queryKey })
  const change = (next: (items: Rule[]) => Rule[]): void => {
    queries.setQueryData<Rules>(queryKey, (rules) => rules && { ...rules, items: next(rules.items) })
  }
  const put = (enabled: boolean): void =>
    change((items) => items.map((one) => (one.id === rule.id ? { ...one, enabled } : one)))
  const toggle = useMutation({
    mutationFn: (enabled: boolean) => changeRule(rule.id, { enabled }),
    onMutate: async (enabled) => {
      await queries.cancelQueries({ queryKey })
      put(enabled)
    },
    onError: (error, enabled) => {
      put(!enabled)
      showToast(`“${name}” was not switched ${enabled ? 'on' : 'off'}: ${errorText(error)}`, {
        bad: true,
      })
    },
  })
  const test = useMutation({
    mutationFn: () => testRule(rule.id),
    onSuccess: ({ mail }) =>
      showToast(
        hasChannels
          ? `A test of “${name}” is on its way to ${places}.`
          : mail.configured
            ? `A test mail of “${name}” is on its way to ${to}.`
            : `The test mail of “${name}” was only written to the service’s log: no mail server is set.`,
      ),
    onError: (error) => showToast(`No test mail was sent: ${errorText(error)}`, { bad: true }),
  })
  const again = async (): Promise<void> => {
    const { id: _id, project, created_at: _at, channels: _mail, ...fields } = rule
    try {
      await createRule(project, fields)
      await refresh()
    } catch (error) {
      showToast(`“${name}” was not made again: ${errorText(error)}`, { bad: true })
    }
  }
  const drop = useMutation({
    mutationFn: () => deleteRule(rule.id),
    onSuccess: () => {
      change((items) => items.filter((one) => one.id !== rule.id))
      // The addresses of channels are not known here, so such a rule cannot be made again.
      if (hasChannels) showToast(`“${name}” deleted.`)
      else showToast(`“${name}” deleted.`, { action: { label: 'Undo', run: () => void again() } })
    },
    onError: (error) => showToast(`“${name}” was not deleted: ${errorText(error)}`, { bad: true }),
  })
  return { toggle, test, drop }
}
