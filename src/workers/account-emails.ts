import type { PendingMail } from '../domain/addresses/index.ts'
import type { MentionFacts } from '../domain/comments/index.ts'
import { escapeHtml } from '../domain/escape-html.ts'
import type { PendingInvitation } from '../domain/invitations/index.ts'
import { type EmailMessage, line } from '../domain/notifications/index.ts'
import type { AgentMail } from '../domain/outbox.ts'

/**
 * Texts of mails about accounts. Pure: no I/O in this file. Names come from users, so each is reduced to one line of
 * plain text; a mail to an unconfirmed address contains no text that another user may choose freely.
 */

/** Asks the owner of an address to confirm it. `link` works once, until the request expires. */
export function confirmationEmail(mail: PendingMail, link: string): EmailMessage {
  const until = mail.expiresAt.slice(0, 10)
  if (mail.purpose === 'account') {
    return write({
      subject: 'Verify your address',
      lines: [
        `An account with the address ${mail.address} was registered on this experiment monitor.`,
        'Open the link and confirm that it is yours. You can then be invited to projects and get notifications.',
      ],
      link: { label: 'Verify the address', url: link },
      foot: `The link works once, until ${until}. If you did not register, ignore this mail.`,
    })
  }
  const project = mail.project === null ? 'a project' : `the project “${line(mail.project, 128)}”`
  return write({
    subject: 'Confirm that you want notifications',
    lines: [
      `${capital(project)} on this experiment monitor is set up to send notifications to ${mail.address}.`,
      'Open the link and confirm if you want them. Nothing is sent to you otherwise.',
    ],
    link: { label: 'Confirm the address', url: link },
    foot: `The link works once, until ${until}. If you do not want notifications, ignore this mail.`,
  })
}

export function invitationEmail(invitation: PendingInvitation, home: string): EmailMessage {
  const inviter = invitation.invitedBy === null ? 'A user' : line(invitation.invitedBy, 80)
  const project = line(invitation.project, 128)
  return write({
    subject: `Invitation to the project ${project}`,
    lines: [
      `${inviter} invites you to the project “${project}” as a ${invitation.role}.`,
      'Sign in and accept or decline: the invitation is shown at the top of every page.',
    ],
    link: { label: 'Open the experiment monitor', url: home },
    foot: `This mail was sent to ${invitation.address}, the address of your account.`,
  })
}

/** Tells a person that a comment mentions them. */
export function mentionEmail(
  {
    author,
    project,
    body,
    batch,
    report,
  }: Pick<MentionFacts, 'author' | 'project' | 'body' | 'batch' | 'report'>,
  home: string,
): EmailMessage {
  const who = line(author, 80)
  const what =
    batch === null
      ? `the report “${line(report?.title ?? '', 128)}”`
      : `the run “${line(batch.name ?? batch.id, 128)}”`
  const url =
    batch === null
      ? `${home}/r/${encodeURIComponent(report?.id ?? '')}#comments`
      : `${home}/b/${encodeURIComponent(batch.id)}/comments`
  return write({
    subject: `${who} mentions you in a comment on ${what}`,
    lines: [
      `${who} writes in the project “${line(project, 128)}”:`,
      ...body
        .slice(0, MAX_QUOTED)
        .split('\n')
        .filter((one) => one.trim() !== '')
        .slice(0, 20)
        .map((one) => line(one, 500)),
      ...(body.length > MAX_QUOTED ? ['…'] : []),
    ],
    link: { label: 'Open the comment', url },
    foot: `You get this because you see the project. Choose what you are told of on your account page: ${home}/account`,
  })
}

export function agentEmail(
  { at, by = 'session', replaced = true }: AgentMail,
  hostname: string,
): { subject: string; text: string } {
  const host = line(hostname, 253)
  const source = by === 'session' ? 'a session' : 'a reporter token'
  return {
    subject: replaced ? `The agent on ${host} has a new token` : `An agent on ${host} was registered`,
    text: [
      `The agent on ${host} was registered ${replaced ? 'again ' : ''}at ${at} by ${source} of your account.`,
      ...(replaced ? ['The token that it had before was refused from then on.'] : []),
      '',
      by === 'session'
        ? 'If that was you, there is nothing to do. If not, revoke the agent on the Hosts page, change your password, and'
        : 'If that was you, there is nothing to do. If not, revoke the agent on the Hosts page, and your reporter tokens',
      by === 'session'
        ? 'sign out everywhere: the holder of the new token receives the commands of your reruns on that host.'
        : 'on the Tokens page: the holder of the new token receives the commands of your reruns on that host.',
      '',
    ].join('\n'),
  }
}

/** Characters of a comment that a mail quotes. */
const MAX_QUOTED = 2_000

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function write(mail: {
  subject: string
  lines: string[]
  link: { label: string; url: string }
  foot: string
}): EmailMessage {
  const { subject, lines, link, foot } = mail
  return {
    subject: line(subject, 250),
    text: [...lines, '', link.url, '', '-- ', foot, ''].join('\n'),
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8">',
      `<title>${escapeHtml(subject)}</title></head>`,
      '<body style="font-family: system-ui, sans-serif; color: #1c2024; line-height: 1.5">',
      `<h1 style="font-size: 18px">${escapeHtml(subject)}</h1>`,
      ...lines.map((one) => `<p>${escapeHtml(one)}</p>`),
      `<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p>`,
      `<p style="color: #60646c; font-size: 13px">${escapeHtml(foot)}</p></body></html>`,
      '',
    ].join('\n'),
  }
}
