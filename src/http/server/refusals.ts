import { type AnsweredBy, PROBLEM_CODES, PROBLEMS, type ProblemCode } from '../../problem.ts'
import type { Operation } from '../docs/openapi-parts.ts'

const answeredBy = (place: AnsweredBy): ProblemCode[] =>
  PROBLEM_CODES.filter((code) => {
    const [, , answeredBy]: readonly [number, string, AnsweredBy?] = PROBLEMS[code]
    return answeredBy === place
  })

/** Errors that every route may answer with. */
export const EVERYWHERE = answeredBy('every route')
/** Codes that the REST document does not list. */
export const OUTSIDE_REST = answeredBy('no route')
/** Codes of a failed sign-in through an identity provider; they appear in the page's address. */
export const IN_ADDRESSES = answeredBy('address')

/** The `…_not_found` code of a path; the first pattern that matches counts. */
const MISSING: readonly [begins: string, code: ProblemCode][] = [
  ['/api/uploads/{id}', 'upload_not_found'],
  ['/api/batches/{id}', 'batch_not_found'],
  ['/api/agents/{id}', 'agent_not_found'],
  ['/api/hosts/{id}', 'agent_not_found'],
  ['/api/jobs/{key}', 'job_not_found'],
  ['/api/tokens/{id}', 'token_not_found'],
  ['/api/rules/{id}', 'rule_not_found'],
  ['/api/shares/{id}', 'share_not_found'],
  ['/api/shared/{token}', 'share_not_found'],
  ['/api/views/{id}', 'view_not_found'],
  ['/api/reports/{id}', 'report_not_found'],
  ['/api/shared-reports/{token}', 'report_not_found'],
  ['/api/sweeps/{id}', 'sweep_not_found'],
  ['/api/invitations/{id}', 'invitation_not_found'],
  ['/api/projects/{slug}', 'project_not_found'],
  ['/api/admin/users/{id}', 'user_not_found'],
  ['/api/oauth/{idp}', 'provider_not_found'],
  ['/api/auth/identities/{id}', 'identity_not_found'],
]

const EVENT: ProblemCode[] = [
  'project_forbidden',
  'token_bound_to_batch',
  'unknown_project',
  'invalid_project_name',
  'project_exists',
  'quota_exceeded',
  'batch_purged',
  'batch_project_mismatch',
  'event_too_large',
  'unsupported_schema_version',
  'invalid_envelope',
  'invalid_event_data',
  'invalid_text',
  'too_deep',
]
const BUSY: ProblemCode[] = ['rate_limited']
/** Of routes that ask for the password or a code again. */
const PROOF: ProblemCode[] = [
  'wrong_password',
  'wrong_code',
  'code_required',
  'confirmation_required',
  'too_many_attempts',
]

/** Further codes of single routes, beyond those that follow from their input and their callers. */
const OWN: Record<string, readonly ProblemCode[]> = {
  'GET /api/dashboard/summary': ['project_not_found'],
  'GET /api/dashboard/activity': ['project_not_found'],
  'POST /api/events': [...EVENT, ...BUSY],
  'POST /api/events/batch': [
    'too_many_events',
    'unsupported_schema_version',
    'invalid_envelope',
    'invalid_text',
    'too_deep',
    ...BUSY,
  ],
  'POST /api/auth/register': [
    'registration_closed',
    'email_taken',
    'too_many_registrations',
    'password_too_common',
    'password_guessable',
  ],
  'POST /api/auth/login': [
    'bad_credentials',
    'account_disabled',
    'too_many_attempts',
    'second_factor_required',
  ],
  'POST /api/auth/login/totp': ['bad_code', 'challenge_expired', 'account_disabled', 'too_many_attempts'],
  'POST /api/auth/login/passkey/options': ['passkeys_unavailable', 'too_many_attempts'],
  'POST /api/auth/login/passkey': [
    'passkeys_unavailable',
    'passkey_refused',
    'challenge_expired',
    'account_disabled',
    'too_many_attempts',
  ],
  'POST /api/auth/passkeys/options': ['passkeys_unavailable', ...PROOF, 'too_many_passkeys'],
  'POST /api/auth/passkeys': [
    'passkeys_unavailable',
    'passkey_refused',
    'challenge_expired',
    'passkey_exists',
    'too_many_passkeys',
  ],
  'PATCH /api/auth/passkeys/{id}': ['passkey_not_found'],
  'DELETE /api/auth/passkeys/{id}': ['passkey_not_found', 'confirmation_required'],
  'POST /api/auth/totp': ['wrong_password', 'totp_enabled', 'too_many_attempts', 'confirmation_required'],
  'POST /api/auth/confirm': [
    ...PROOF,
    'passkey_refused',
    'passkeys_unavailable',
    'challenge_expired',
    'account_disabled',
  ],
  'POST /api/auth/totp/confirm': ['wrong_code', 'totp_not_enabled', 'totp_enabled', 'too_many_attempts'],
  'POST /api/auth/totp/disable': [...PROOF, 'totp_not_enabled'],
  'POST /api/auth/recovery-codes': [...PROOF, 'totp_not_enabled'],
  'DELETE /api/auth/sessions': ['confirmation_required'],
  'DELETE /api/auth/sessions/{id}': ['session_not_found'],
  'GET /api/auth/me': ['forbidden'],
  'PATCH /api/auth/me': [...PROOF, 'password_too_common', 'password_guessable'],
  'GET /api/oauth/{idp}/start': ['provider_unavailable', 'too_many_attempts'],
  'POST /api/oauth/{idp}/link': [...PROOF, 'provider_unavailable'],
  'DELETE /api/auth/identities/{id}': ['last_sign_in', 'confirmation_required'],
  'PATCH /api/admin/users/{id}': ['last_admin', 'confirmation_required'],
  'DELETE /api/admin/users/{id}/factors': ['confirmation_required'],
  'POST /api/admin/jwt/rotate': ['confirmation_required'],
  'POST /api/batches/{id}/stop': ['batch_finished'],
  'POST /api/batches/{id}/rerun': [
    'agent_offline',
    'command_unknown',
    'nothing_to_rerun',
    'too_many_jobs',
    'command_changed',
  ],
  'POST /api/batches/{id}/commands/{cmd_id}/cancel': ['command_not_found', 'command_not_pending'],
  'POST /api/agents/{id}/jobs/{cmd_id}/claim': ['command_not_found', 'command_not_pending'],
  'POST /api/agents/{id}/jobs/{cmd_id}/ack': ['command_not_found', 'command_not_pending'],
  'POST /api/agents/{id}/jobs/{cmd_id}/steps': ['command_not_found'],
  'POST /api/agents/{id}/jobs/{cmd_id}/result': ['command_not_found', 'command_not_in_flight'],
  'GET /api/jobs/metrics': ['job_not_found', 'too_many_points'],
  'GET /api/batches/{id}/metrics': ['too_many_points'],
  'GET /api/batches/{id}/jobs/{job_id}/attempts': ['job_not_found'],
  'GET /api/batches/{id}/jobs/{job_id}/attempts/{n}/metrics': [
    'job_not_found',
    'attempt_not_found',
    'too_many_points',
  ],
  'POST /api/batches/{id}/restore': ['batch_purged'],
  'POST /api/projects': ['project_exists', 'invalid_project_name', 'quota_exceeded'],
  'POST /api/tokens': ['quota_exceeded'],
  'POST /api/agents/register': ['quota_exceeded', 'agent_online'],
  'POST /api/batches/{id}/shares': ['quota_exceeded'],
  'POST /api/batches/{id}/files': ['file_too_large', 'storage_full', 'storage_unavailable'],
  'GET /api/batches/{id}/files.zip': ['file_not_found', 'storage_unavailable'],
  'GET /api/batches/{id}/files/{path}': ['file_not_found', 'range_not_satisfiable', 'storage_unavailable'],
  'POST /api/projects/{slug}/artifacts': [
    'batch_not_found',
    'artifact_type_mismatch',
    'batch_project_mismatch',
    'file_too_large',
    'storage_full',
    'storage_unavailable',
  ],
  'GET /api/projects/{slug}/artifacts/{name}': ['artifact_not_found'],
  'GET /api/projects/{slug}/artifacts/{name}/aliases/history': ['artifact_not_found'],
  'GET /api/projects/{slug}/artifacts/{name}/{version}': ['artifact_not_found'],
  'GET /api/projects/{slug}/artifacts/{name}/{version}/files/{path}': [
    'artifact_not_found',
    'file_not_found',
    'range_not_satisfiable',
    'storage_unavailable',
  ],
  'PUT /api/projects/{slug}/artifacts/{name}/{version}/aliases': ['artifact_not_found', 'artifact_pending'],
  'POST /api/projects/{slug}/artifacts/{name}/{version}/uses': [
    'artifact_not_found',
    'batch_not_found',
    'batch_project_mismatch',
  ],
  'GET /api/projects/{slug}/artifacts/{name}/{version}/lineage': ['artifact_not_found'],
  'DELETE /api/projects/{slug}/artifacts/{name}/{version}': ['artifact_not_found', 'artifact_in_use'],
  'GET /api/shared/{token}/files.zip': ['file_not_found', 'storage_unavailable'],
  'GET /api/shared/{token}/files/{path}': ['file_not_found', 'range_not_satisfiable', 'storage_unavailable'],
  'DELETE /api/batches/{id}/files/{path}': ['file_not_found'],
  'PATCH /api/uploads/{id}': [
    'upload_offset_mismatch',
    'content_mismatch',
    'unsupported_tus_version',
    'file_too_large',
    'unsupported_media_type',
    'upload_busy',
    'storage_full',
  ],
  'GET /api/reports': ['project_not_found'],
  'POST /api/reports': ['project_not_found', 'quota_exceeded'],
  'POST /api/reports/{id}/links': ['quota_exceeded'],
  'DELETE /api/reports/{id}/links/{link}': ['share_not_found'],
  'GET /api/shared/{token}/embed': ['embed_not_allowed'],
  'GET /api/shared/{token}/chart.svg': ['embed_not_allowed'],
  'GET /api/shared/{token}/chart.png': ['embed_not_allowed'],
  'GET /api/shared/{token}/badge.svg': ['embed_not_allowed'],
  'GET /api/shared-reports/{token}/embed': ['embed_not_allowed'],
  'GET /api/oembed': ['share_not_found', 'embed_not_allowed'],
  'POST /api/batches/{id}/comments': ['quota_exceeded', 'too_many_attempts'],
  'PATCH /api/batches/{id}/comments/{comment}': ['comment_not_found'],
  'DELETE /api/batches/{id}/comments/{comment}': ['comment_not_found'],
  'POST /api/reports/{id}/comments': ['quota_exceeded', 'too_many_attempts'],
  'PATCH /api/reports/{id}/comments/{comment}': ['comment_not_found'],
  'DELETE /api/reports/{id}/comments/{comment}': ['comment_not_found'],
  'GET /api/views': ['project_not_found'],
  'POST /api/views': ['project_not_found', 'view_path_mismatch', 'quota_exceeded'],
  'PATCH /api/views/{id}': ['view_exists', 'view_path_mismatch'],
  'POST /api/projects/{slug}/members': ['user_not_found', 'already_owner', 'address_not_verified'],
  'DELETE /api/projects/{slug}/invitations/{id}': ['invitation_not_found'],
  'POST /api/projects/{slug}/confirmations': [
    'address_not_found',
    'address_already_verified',
    'address_stopped',
    'mail_not_configured',
    'too_many_attempts',
  ],
  'POST /api/auth/verification': ['address_already_verified', 'mail_not_configured', 'too_many_attempts'],
  'DELETE /api/projects/{slug}/members/{user_id}': ['member_not_found'],
  'POST /api/projects/{slug}/rules': ['too_many_rules'],
  'POST /api/rules/{id}/test': ['too_many_attempts'],
  'POST /api/rules/{id}/deliveries/{delivery}/send': [
    'delivery_not_found',
    'delivery_not_repeatable',
    'too_many_attempts',
  ],
  'POST /api/projects/{slug}/sweeps': [...BUSY],
  'POST /api/sweeps/{id}/trials': ['sweep_paused', 'params_required', ...BUSY],
  'POST /api/sweeps/{id}/trials/{number}/lease': ['trial_not_found', 'trial_taken'],
  'POST /api/sweeps/{id}/queue': ['trial_not_found', 'nothing_to_queue'],
  'POST /api/sweeps/{id}/commands': [...BUSY],
  'POST /api/sweeps/{id}/workers': ['sweep_finished', 'command_unknown', 'command_changed', 'agent_offline'],
  'PATCH /api/sweeps/{id}': ['sweep_finished'],
  'GET /api/sse': ['channel_forbidden', 'too_many_streams'],
  'POST /api/sse': ['too_many_streams'],
  'GET /metrics': ['forbidden'],
}

/** The routes in `OWN`: a test compares them with the registered ones. */
export const ROUTES_WITH_OWN_REFUSALS = Object.keys(OWN)

/** The refusals of a route beyond those of every route, in the order of their status. */
export function refusalsOf(method: string, path: string, operation: Operation): ProblemCode[] {
  const codes = new Set<ProblemCode>()
  const open = operation.security?.length === 0
  const takesBody = operation.requestBody !== undefined
  const ingest = path.startsWith('/api/events')
  const query = operation.parameters?.filter((parameter) => parameter.in === 'query') ?? []

  if (takesBody) codes.add('invalid_json')
  if (!open) codes.add('unauthenticated').add('forbidden')
  // Events are sent with a token, never with a cookie.
  if (method !== 'GET' && !ingest) codes.add('cross_site_request')
  const missing = MISSING.find(([begins]) => path.startsWith(begins))
  if (missing !== undefined) codes.add(missing[1])
  if (takesBody) codes.add('request_timeout').add('body_too_large').add('unsupported_media_type')
  if (takesBody && !ingest) codes.add('invalid_body')
  if (path.startsWith('/api/')) codes.add('invalid_query')
  if (query.some((parameter) => parameter.name === 'cursor')) codes.add('invalid_cursor')
  for (const code of OWN[`${method} ${path}`] ?? []) codes.add(code)
  return [...codes]
}
