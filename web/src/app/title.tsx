import { useParams, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Status } from '../lib/api/batches.ts'
import { batchStore } from '../lib/live/batches.ts'
import { useRowPart } from '../lib/live/row-store.ts'
import { PAGES, pageOfProject } from './places.ts'

const SIGNS: Record<Status, string> = { running: '●', completed: '✓', failed: '✗', stopped: '■', lost: '○' }
const PRODUCT = 'Experiment monitor'

/** The document title: the page and the status of its batch, for users with many open tabs. */
export function Title() {
  const { slug, batchId, jobId, hostId, token, reportId } = useParams({ strict: false })
  const path = useRouterState({ select: (state) => state.location.pathname })
  const status = useRowPart(batchStore, batchId ?? '', (batch) => batch?.status)
  const batchLabel = useRowPart(batchStore, batchId ?? '', (batch) => batch?.name) ?? batchId
  const place = hostId === undefined ? PAGES[path] : 'Host'
  const ofProject = pageOfProject(path)
  const name = jobId ?? batchLabel ?? ofProject ?? slug ?? place
  const sign = status === undefined || jobId !== undefined ? '' : `${SIGNS[status]} `
  const within = jobId !== undefined ? batchLabel : ofProject && slug
  useEffect(() => {
    // Shared batches and reports set their own title: their URLs do not contain a name.
    if (token !== undefined || reportId !== undefined) return
    document.title = [name && `${sign}${name}`, within, PRODUCT].filter(Boolean).join(' · ')
  }, [token, reportId, name, sign, within])
  return null
}
