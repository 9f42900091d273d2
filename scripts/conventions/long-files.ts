// Which files may be long.
import { isTest, read, sources } from './sources.ts'

/** Files of more than LONG lines (tests: LONG_TEST), each with why it stays in one piece. */
const LONG = 300
const LONG_TEST = 500
const LONG_WITH_REASON: Record<string, string> = {
  'bench/page.ts': 'one visit of the page, measured from its first row to its last frame',
  'src/app.ts': 'everything is opened here, in order, and closed in reverse',
  'src/config.ts': 'one table of settings, from which their values, defaults and documentation come',
  'src/graphql/descriptions.ts': 'one table: a description for every member without one of its own',
  'src/domain/access.ts':
    'the whole table of rights with the look-ups that feed it; split, no one could check it',
  'src/domain/eta/estimate.ts': 'one argument in pure functions, in the order in which it is made',
  'scripts/record-digits.py':
    'a script of its own, run once: the training and its recorder, without a package around',
  'python/agent/src/svc_agent/_daemon.py': 'the loop of the agent: watching processes, polling, reporting',
  'python/reporter/scripts/generate_validator.py': 'one generator, read beside its output',
  'python/reporter/src/svc_reporter/_capture/console.py':
    'one capture of two streams: replacing, collecting, splitting into lines, restoring',
  'python/reporter/src/svc_reporter/_disk/file_store.py':
    'one store: content and the records that name it, under one lock',
  'python/reporter/src/svc_reporter/_run/files.py':
    'the files of one run: two threads, with the state that they share',
  'python/reporter/src/svc_reporter/_capture/media.py':
    'the public classes of media with their documentation',
  'python/reporter/src/svc_reporter/_run/job.py': 'the public class of a job with its documentation',
  'python/reporter/src/svc_reporter/_shared/plain.py': 'one conversion of any value to JSON, with its bounds',
  'python/reporter/src/svc_reporter/_run/reporter.py': 'the public class with its documentation',
  'python/reporter/src/svc_reporter/_run/run.py': 'the other public class with its documentation',
  'python/reporter/src/svc_reporter/_delivery/uploads.py':
    'one upload, from its declaration to what is settled',
  'python/reporter/src/svc_reporter/_delivery/worker.py': 'one state machine over the events in flight',
  'python/reporter/src/svc_reporter/importing/_wandb.py':
    'one reader of a log: what each kind of record becomes',
  'python/reporter/src/svc_reporter/importing/_writer.py':
    'what each kind of record becomes, with the state of one run',
  'python/reporter/src/svc_reporter/query/_api.py': 'the public class of reading with its documentation',
  'python/reporter/tests_frameworks/test_import_from.py':
    'a history of each tool, side by side, so that they can be compared',
  'python/reporter/src/svc_reporter/integrations/lightning.py':
    'a logger and a callback of one library, with what they share',
  'python/reporter/tests_frameworks/test_boosting.py':
    'one scripted training a library, side by side, so that they can be compared',
  'python/reporter/tests_frameworks/test_deep_learning.py':
    'one scripted training a library, side by side, so that they can be compared',
  'web/src/app/router.tsx': 'one table: a route for every page',
  'test/http/access-matrix.ts': 'one table: a row for every route',
  'test/http/batches.test.ts': 'the lists and single reads of the contract, one fact each',
  'test/sweeps/sweeps.test.ts': 'the life of a sweep through its routes, one rule each, on one app',
  'test/ingest/contract.test.ts': 'the sentences of contract §1 in their order, one test each',
}

export function longFiles(): string[] {
  const lines = (path: string): number => read(path).split('\n').length - 1
  const long = sources.filter((path) => lines(path) > (isTest(path) ? LONG_TEST : LONG))
  return [
    ...long
      .filter((path) => !(path in LONG_WITH_REASON))
      .map(
        (path) =>
          `${path} has ${lines(path)} lines: divide it, or give the reason in scripts/conventions/long-files.ts`,
      ),
    ...Object.keys(LONG_WITH_REASON)
      .filter((path) => !long.includes(path))
      .map((path) => `${path} is short or gone: remove its reason`),
  ]
}
