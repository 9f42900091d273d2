import { z } from 'zod'
import type { Db } from '../../db/sql.ts'
import { type Fields, jsonOf, nullable, text, texts, type ViewOf } from '../field.ts'
import { LOSSES } from '../metrics/index.ts'

/** The fields of the newest jobs of a project, for filters and columns. */
export const knownFieldFields = {
  params: { type: texts, means: 'Names of parameters in the project', public: 'hidden' },
  series: { type: texts, means: 'Names of series in the project', public: 'hidden' },
  main_metric: {
    type: nullable(text),
    means: 'The series that tables show by default: a loss, if jobs have one, that most of them have',
    public: 'hidden',
  },
  hosts: { type: texts, means: 'Machines of batches in the project', public: 'hidden' },
  owners: { type: texts, means: 'Owners of batches in the project', public: 'hidden' },
  tags: { type: texts, means: 'Tags of batches in the project', public: 'hidden' },
  values: {
    type: jsonOf(z.record(z.string(), z.array(z.string()))),
    means: 'Values of parameters that are texts, by name; at most 20 of each',
    public: 'hidden',
  },
} as const satisfies Fields
export type KnownFields = ViewOf<typeof knownFieldFields>

const LOOKED_AT = 2_000
const MAX_NAMES = 300
/** The most values of one parameter; with more, users type the value. */
const MAX_VALUES = 20

/** The fields of these projects, by key: one statement for all of them. */
export async function knownFields(db: Db, projectKeys: readonly number[]): Promise<Map<number, KnownFields>> {
  const rows = await db<(KnownFields & { key: number })[]>`/* batches.known_fields */
    select k.key, f.* from unnest(${[...projectKeys]}::integer[]) as k (key) cross join lateral (
    with b as materialized (
      select host, owner_id, tags from batches where project_key = k.key and deleted_at is null
      order by started_at desc, key desc limit ${LOOKED_AT}),
    j as materialized (
      select key, params, model, dataset from jobs where project_key = k.key
      order by started_at desc, key desc limit ${LOOKED_AT}),
    s as materialized (
      select n, count(*) c, array_position(${[...LOSSES]}::text[], n) at from j join job_progress p on p.job_key = j.key
      cross join unnest(p.series) n group by n)
    select
      array(select n from (
        select distinct jsonb_object_keys(params) n from j union select 'model' from j where model is not null
        union select 'dataset' from j where dataset is not null) x order by n limit ${MAX_NAMES}) params,
      array(select n from s order by n limit ${MAX_NAMES}) series,
      -- A preferred name that few jobs have would leave the column empty.
      (select n from (select *, at is not null or n ~* 'loss' is_loss from s) s
        order by is_loss desc, c * 2 < max(c) over (partition by is_loss), at, c desc, n limit 1) main_metric,
      array(select distinct host from b where host is not null order by host limit ${MAX_NAMES}) hosts,
      array(select distinct u.name from b join users u on u.id = b.owner_id order by u.name limit ${MAX_NAMES}) owners,
      array(select distinct t from b cross join unnest(tags) t order by t limit ${MAX_NAMES}) tags,
      coalesce((select jsonb_object_agg(name, list) from (
        select name, jsonb_agg(value order by value) list from (
          select name, value, row_number() over (partition by name order by value) n from (
            select distinct e.name, e.value #>> '{}' value from j cross join jsonb_each(params) e (name, value)
            where jsonb_typeof(e.value) in ('string', 'boolean') and length(e.value #>> '{}') between 1 and 60
            union select 'model', model from j where model is not null and length(model) <= 60
            union select 'dataset', dataset from j where dataset is not null and length(dataset) <= 60) d) ranked
        where n <= ${MAX_VALUES} group by name order by name limit ${MAX_NAMES}) x), '{}') values) f`
  return new Map(rows.map(({ key, ...fields }) => [key, fields]))
}
