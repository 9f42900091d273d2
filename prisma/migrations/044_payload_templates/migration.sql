-- Payloads that differ only in their numbers, their event_id and their timestamp are kept as one template a batch, and an
-- event keeps its numbers (docs/decisions/0022-payload-templates.md, src/domain/events/payload.ts). An event has its text in
-- `payload`, or its template and numbers in `packed`, or neither once it is purged.
create table if not exists payload_templates (
  batch_key bigint not null,
  -- The first six bytes of the SHA-256 of the template.
  hash      bytea not null,
  -- The text, with chr(1) for each number, chr(2) for the event_id, chr(3) to chr(5) for the timestamp.
  template  text not null,
  -- Which of the numbers, from 1, is data.epoch; null where there is none.
  epoch_at  integer,
  primary key (batch_key, hash)
);
-- The hash of the template, then the numbers as they were written, each character half a byte.
alter table events add column if not exists packed bytea;
