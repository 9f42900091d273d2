-- Links whose charts and badges other sites may show (docs/embeds.md).
alter table shares add column if not exists embed boolean not null default false;
alter table report_links add column if not exists embed boolean not null default false;

-- The public links to batches and reports that were not revoked, with what their permission depends on. A share that a
-- link to a report brought is not listed in its project: it is revoked with that link.
create or replace view links as
select s.id, 'batch' as opened, s.batch_key, b.id as batch_id, null::uuid as report_id, coalesce(b.name, b.id) as title,
  s.anonymous, coalesce(s.files, false) as files, s.created_by, s.created_at, s.expires_at, b.project_key, b.owner_id,
  m.role as member_role, b.deleted_at is null and b.purged_at is null as available,
  b.purged_at is null and (s.id, b.project_key) not in (
    select unnest(l.share_ids), r.project_key from report_links l join reports r on r.id = l.report_id) as listed,
  s.embed
from shares s
join batches b on b.key = s.batch_key
left join project_members m on m.project_key = b.project_key and m.user_id = s.created_by
where s.revoked_at is null
union all
select l.id, 'report', null, null, r.id, r.title, false, false, l.created_by, l.created_at, null, r.project_key, r.user_id,
  m.role, true, true, l.embed
from report_links l
join reports r on r.id = l.report_id
left join project_members m on m.project_key = r.project_key and m.user_id = l.created_by;
