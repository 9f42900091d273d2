import { keysOf } from './checked.ts'
/**
 * Where a refusal can occur, if not only at the routes that http/server/refusals.ts names.
 *
 * - every route: any REST route may answer it
 * - no route: only GraphQL, subscriptions and the links in mail
 * - address: never a response status; a sign-in through an identity provider ends with the code in the page's URL
 */
export type AnsweredBy = 'every route' | 'no route' | 'address'

/**
 * Every refusal of the service, in one table. Codes are stable, so clients may switch on them. Throw one as `new
 * Problem(code)`; only the transports (http, graphql) turn it into a status (RFC 9457, contract "General rules").
 */
export const PROBLEMS = {
  // 400
  bad_request: [400, 'The request cannot be understood', 'every route'],
  query_too_large: [400, 'The query exceeds a limit of one request', 'no route'],
  host_not_allowed: [400, 'The Host header is not in the allowed hosts of this service', 'every route'],
  // 401
  unauthenticated: [401, 'A valid credential is needed'],
  bad_credentials: [401, 'The address or the password is wrong'],
  second_factor_required: [
    401,
    'The password is right; a code of the authenticator app or a recovery code is needed',
  ],
  bad_code: [401, 'The code is wrong, was used already or has expired'],
  challenge_expired: [401, 'The sign-in took too long or was used already: start again'],
  passkey_refused: [401, 'The passkey is not known here, or its answer could not be verified'],
  // 403
  forbidden: [403, 'The caller may not do that'],
  cross_site_request: [403, 'A request with a cookie must come from the same site'],
  channel_forbidden: [403, 'The caller may not follow that channel'],
  project_forbidden: [403, 'The caller may not write to that project'],
  token_bound_to_batch: [
    403,
    'The token of a rerun reports one batch only; send events of other batches with a token of your own',
  ],
  registration_closed: [403, 'Registration is closed on this service'],
  account_disabled: [403, 'The account is disabled'],
  wrong_password: [403, 'The current password is wrong'],
  code_required: [
    403,
    'The account has an authenticator app: send one of its codes or a recovery code, not only the password',
  ],
  second_factor_setup_required: [
    403,
    'This service requires a second factor: set up an authenticator app, or sign in with a passkey',
    'every route',
  ],
  confirmation_required: [
    403,
    'The sign-in is more than 10 minutes old: prove who you are (POST /api/auth/confirm), then repeat the request',
  ],
  wrong_code: [403, 'The code is wrong, was used already or has expired'],
  sign_in_cancelled: [403, 'The sign-in was cancelled at the identity provider', 'address'],
  sign_in_expired: [
    403,
    'The sign-in was started in another browser, has expired or was used already',
    'address',
  ],
  sign_in_unverified: [403, 'The answer of the identity provider could not be verified', 'address'],
  sign_in_not_allowed: [
    403,
    'The identity provider did not confirm an address in an allowed domain',
    'address',
  ],
  sign_in_not_linked: [403, 'You are not signed in to the account that asked for the link', 'address'],
  email_missing: [403, 'The identity provider sent no e-mail address', 'address'],
  // 404
  not_found: [404, 'Not found', 'every route'],
  project_not_found: [404, 'No such project'],
  batch_not_found: [404, 'No such batch'],
  job_not_found: [404, 'No such job'],
  attempt_not_found: [404, 'The job has no such attempt'],
  token_not_found: [404, 'No such token'],
  member_not_found: [404, 'Not a member of the project'],
  rule_not_found: [404, 'No such rule'],
  delivery_not_found: [404, 'The rule has no such message'],
  share_not_found: [404, 'No such share, or it has ended'],
  view_not_found: [404, 'No such saved view'],
  report_not_found: [404, 'No such report'],
  embed_not_allowed: [403, 'This link may not be shown on other sites'],
  comment_not_found: [404, 'No such comment'],
  sweep_not_found: [404, 'No such sweep'],
  trial_not_found: [404, 'No such trial'],
  invitation_not_found: [404, 'No such invitation'],
  confirmation_not_found: [404, 'The link is unknown, has expired or was used already', 'no route'],
  address_not_found: [404, 'That address is not a recipient of the project or its rules'],
  user_not_found: [404, 'No such user'],
  session_not_found: [404, 'No such session'],
  passkey_not_found: [404, 'No such passkey'],
  provider_not_found: [404, 'No such identity provider'],
  identity_not_found: [404, 'No such identity'],
  agent_not_found: [404, 'No such agent'],
  command_not_found: [404, 'No such command'],
  artifact_not_found: [404, 'No such artifact, or no such version of it'],
  file_not_found: [404, 'No such file, or its content has not arrived'],
  upload_not_found: [404, 'No such upload: declare the file again'],
  unknown_project: [404, 'No such project, and projects are not created on first use here'],
  batch_purged: [404, 'The batch was deleted and purged'],
  // 405
  method_not_allowed: [405, 'That method is not allowed here', 'every route'],
  // 406
  not_acceptable: [
    406,
    'A subscription is answered with a stream: send Accept: text/event-stream',
    'no route',
  ],
  // 408
  request_timeout: [408, 'The request did not arrive in time'],
  // 409
  email_taken: [409, 'An account with that address exists'],
  batch_project_mismatch: [409, 'The batch belongs to another project'],
  project_exists: [409, 'A project with that name, or with one that looks like it, exists'],
  view_exists: [409, 'Its user has another view of that title in the project'],
  quota_exceeded: [409, 'The user has reached a quota'],
  delivery_not_repeatable: [409, 'Only messages to channels that still exist are sent again; mail never is'],
  too_many_rules: [409, 'The project has reached its limit of rules'],
  address_not_verified: [409, 'The owner of that account has not verified its address'],
  address_already_verified: [409, 'The address is confirmed already'],
  address_stopped: [409, 'The owner of that address opted out of mail from this service'],
  mail_not_configured: [409, 'No mail server is configured, so no mail can be sent'],
  already_owner: [409, "The project's owner already has every right in it"],
  batch_finished: [409, 'The batch has ended'],
  sweep_paused: [409, 'The sweep is paused: ask again once it runs'],
  nothing_to_queue: [409, 'No trial of the sweep has failed'],
  trial_taken: [409, 'Another worker has the trial'],
  sweep_finished: [409, 'The sweep has no trials left: raise max_trials to run it again'],
  agent_offline: [409, "No agent of the batch's owner is online on the host it ran on"],
  agent_online: [409, 'The agent of that host is online, so a reporter token may not replace it'],
  command_changed: [409, 'The recorded command is not the one that was confirmed'],
  command_unknown: [409, 'The recorded command of the batch is incomplete, so it cannot be run again'],
  nothing_to_rerun: [409, 'Every job of the batch is done'],
  too_many_jobs: [409, 'Too many jobs to select for one process: rerun all jobs'],
  command_not_pending: [409, 'The command is not pending'],
  command_not_in_flight: [409, 'The command is not in flight'],
  identity_taken: [409, 'The identity belongs to another account', 'address'],
  totp_enabled: [409, 'An authenticator app is set up already: remove it first'],
  totp_not_enabled: [409, 'No authenticator app is set up'],
  passkey_exists: [409, 'The passkey belongs to an account already'],
  too_many_passkeys: [409, 'The account has reached its limit of passkeys'],
  passkeys_unavailable: [
    409,
    'Passkeys need a host name under HTTPS, or localhost: browsers refuse them at any other address',
  ],
  last_sign_in: [409, 'The last sign-in method cannot be removed'],
  last_admin: [409, 'At least one administrator must remain'],
  artifact_type_mismatch: [409, 'The artifact has another type'],
  artifact_pending: [409, 'Content of the version has not arrived'],
  artifact_in_use: [409, 'Batches used the version, or it has aliases'],
  upload_offset_mismatch: [409, 'Upload-Offset does not match the offset of the upload'],
  content_mismatch: [409, 'The content does not match its SHA-256: declare the file again'],
  // 412
  unsupported_tus_version: [412, 'Tus-Resumable must be 1.0.0'],
  // 413
  too_many_events: [413, 'More than 500 events in one request'],
  body_too_large: [413, 'The request body is too large'],
  event_too_large: [413, 'An event is larger than 256 KiB'],
  file_too_large: [413, 'A file is larger than this service accepts'],
  // 415
  unsupported_schema_version: [415, 'schema_version must be "1.1"'],
  unsupported_media_type: [415, 'That media type or encoding is not accepted'],
  // 416
  range_not_satisfiable: [416, 'The range begins after the end of the file'],
  // 422
  view_path_mismatch: [
    422,
    'The default view of a project is its own page, and a shared view belongs to a project',
  ],
  invalid_json: [422, 'The body is not valid JSON'],
  invalid_project_name: [422, 'The name of the project is not valid'],
  invalid_envelope: [422, 'The event envelope is not valid'],
  invalid_event_data: [422, "The event's data is not valid"],
  invalid_text: [422, 'Text contains a NUL character or a lone surrogate'],
  too_deep: [422, 'JSON is nested deeper than 64 levels'],
  invalid_body: [422, 'The body is not valid'],
  params_required: [422, 'The worker has to propose the parameters'],
  invalid_query: [422, 'A query parameter is not valid'],
  password_too_common: [422, 'The password is one of the most common ones: choose another'],
  password_guessable: [
    422,
    "The password consists of its user's address or name, the name of this service or repeated characters",
  ],
  too_many_points: [422, 'The response would contain too many points'],
  invalid_cursor: [422, 'The cursor does not belong to this list'],
  // 423
  upload_busy: [423, 'Another request is writing to the upload; try again shortly'],
  // 429
  rate_limited: [429, 'Too many events for this token'],
  too_many_attempts: [429, 'Too many attempts'],
  too_many_registrations: [429, 'Too many accounts were registered from this address'],
  too_many_requests: [429, 'Too many requests from this address at a time', 'every route'],
  too_many_streams: [429, 'Too many streams from this address are open'],
  budget_exceeded: [429, 'The read budget of this network or credential is used up', 'every route'],
  // 5xx
  internal: [500, 'Internal error; nothing of the request was stored', 'every route'],
  unavailable: [503, 'The service cannot answer now; try again shortly', 'every route'],
  provider_unavailable: [
    503,
    'The identity provider cannot be reached; sign in another way, or try again shortly',
  ],
  overloaded: [503, 'The service is busy; try again shortly', 'every route'],
  archive_unreadable: [
    503,
    'The batch is in the archive, which cannot be read now; svc doctor shows operators the reason',
    'every route',
  ],
  storage_unavailable: [503, 'The file storage cannot be reached; try again shortly'],
  read_timeout: [503, 'The read took too long; request less data', 'every route'],
  storage_full: [507, 'There is not enough storage for the files'],
} as const satisfies Record<string, readonly [status: number, title: string, answeredBy?: AnsweredBy]>

export type ProblemCode = keyof typeof PROBLEMS
export const PROBLEM_CODES: ProblemCode[] = keysOf(PROBLEMS)

/** One invalid input field: `path` in dotted form, such as `data.epoch`. */
export interface FieldError {
  path: string
  message: string
  /** The character of the value at which the fault is, counted from 1. */
  position?: number
}

export interface ProblemDetails {
  detail?: string
  errors?: FieldError[]
  /** Whole seconds, sent as `Retry-After`. */
  retryAfterS?: number
  headers?: Record<string, string>
  /** Additional members of the response body (RFC 9457 §3.2), such as the challenge of a second factor. */
  members?: Record<string, unknown>
  cause?: unknown
}

/** A refusal with a stable code. Thrown anywhere; the transports turn it into a response. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly errors: FieldError[] | undefined
  readonly retryAfterS: number | undefined
  readonly headers: Record<string, string>
  readonly members: Record<string, unknown>

  constructor(code: ProblemCode, details: ProblemDetails = {}) {
    const [status, title] = PROBLEMS[code]
    // The stack of a refusal is useless, and capturing it costs as much as the rest of the refusal.
    const { stackTraceLimit } = Error
    if (status !== 500) Error.stackTraceLimit = 0
    super(details.detail ?? title, details.cause === undefined ? undefined : { cause: details.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'Problem'
    this.code = code
    this.status = status
    this.title = title
    this.detail = details.detail
    this.errors = details.errors
    this.retryAfterS = details.retryAfterS
    this.headers = details.headers ?? {}
    this.members = details.members ?? {}
  }
}
