-- Hosts as the API lists them: those with an agent, and those that batches of a user reported from without one, whose ids
-- are derived from the owner and the host's name (UUID version 5). The clock is that of the newest batch there.
create or replace view hosts as
select a.id, a.key, a.user_id, a.hostname, a.capabilities, a.version, a.last_seen_at, a.registered_at, a.rotated_at,
  a.revoked_at, a.running,
  (select count(*)::int from agent_commands c where c.agent_id = a.id and c.state = 'pending') as pending_commands,
  true as has_agent,
  coalesce((
    select s.clock_skews from batches b join batch_progress s on s.batch_key = b.key
    where filter_text(b.host) = filter_text(a.hostname) and b.host = a.hostname and b.owner_id = a.user_id
      and b.deleted_at is null
    order by b.started_at desc, b.key desc limit 1), '{}') as clock_skews
from agents a
union all
select (substr(r.hash, 1, 12) || '5' || substr(r.hash, 14, 3) || 'a' || substr(r.hash, 18))::uuid, 0::bigint, r.owner_id,
  r.host, '{}'::jsonb, '', r.last_seen_at, r.registered_at, null::timestamptz, null::timestamptz, '[]'::jsonb, 0, false,
  coalesce((
    select s.clock_skews from batches b join batch_progress s on s.batch_key = b.key
    where filter_text(b.host) = filter_text(r.host) and b.host = r.host and b.owner_id = r.owner_id
      and b.deleted_at is null
    order by b.started_at desc, b.key desc limit 1), '{}')
from (
  select o.owner_id, o.host, md5(o.owner_id::text || chr(10) || o.host) as hash, min(o.created_at) as registered_at,
    max(coalesce(p.last_received_at, p.last_seen_at)) as last_seen_at
  from batches o join batch_progress p on p.batch_key = o.key
  where o.host is not null and o.deleted_at is null
    and not exists (select from agents a where a.user_id = o.owner_id and a.hostname = o.host)
  group by o.owner_id, o.host) r;

-- The public links to batches and reports that were not revoked, with what their permission depends on. A share that a
-- link to a report brought is not listed in its project: it is revoked with that link.
create or replace view links as
select s.id, 'batch' as opened, s.batch_key, b.id as batch_id, null::uuid as report_id, coalesce(b.name, b.id) as title,
  s.anonymous, coalesce(s.files, false) as files, s.created_by, s.created_at, s.expires_at, b.project_key, b.owner_id,
  m.role as member_role, b.deleted_at is null and b.purged_at is null as available,
  b.purged_at is null and (s.id, b.project_key) not in (
    select unnest(l.share_ids), r.project_key from report_links l join reports r on r.id = l.report_id) as listed
from shares s
join batches b on b.key = s.batch_key
left join project_members m on m.project_key = b.project_key and m.user_id = s.created_by
where s.revoked_at is null
union all
select l.id, 'report', null, null, r.id, r.title, false, false, l.created_by, l.created_at, null, r.project_key, r.user_id,
  m.role, true, true
from report_links l
join reports r on r.id = l.report_id
left join project_members m on m.project_key = r.project_key and m.user_id = l.created_by;
