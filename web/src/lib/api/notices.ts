import { get, type Page, patch, post } from './request.ts'

/** What happened that concerns the user. */
export interface Notice {
  id: number
  kind: 'mention' | 'comment' | 'rule'
  created_at: string
  read: boolean
  project: string
  batch: { id: string; name: string | null } | null
  report: { id: string; title: string } | null
  comment: { id: number; author: string; text: string } | null
  rule: { name: string | null; trigger: string; job_id: string | null; reason: string | null } | null
}
export type Notices = Page<Notice> & { unread: number }

export interface NoticeChoices {
  rules: boolean
  comments: boolean
  mentions: boolean
  mention_mail: boolean
}

export const fetchNotices = (signal: AbortSignal): Promise<Notices> =>
  get('/api/notices', { limit: 50 }, signal)
export const markRead = (which: { ids: number[] } | { up_to: number }): Promise<{ unread: number }> =>
  post('/api/notices/read', which)
export const fetchChoices = (): Promise<NoticeChoices> => get('/api/notices/choices')
export const choose = (change: Partial<NoticeChoices>): Promise<NoticeChoices> =>
  patch('/api/notices/choices', change)
