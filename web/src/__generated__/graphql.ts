/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Seconds from and to, both included. */
export type Between = {
  from?: number | null | undefined;
  to?: number | null | undefined;
};

/** Epochs from and to, both included. */
export type EpochRange = {
  from?: number | null | undefined;
  to?: number | null | undefined;
};

export type JobStatus =
  | 'COMPLETED'
  | 'FAILED'
  /** Its batch ended without a word of it */
  | 'LOST'
  | 'RUNNING'
  | 'STOPPED';

export type Sampling = {
  /** The range of a time axis, in place of `range` */
  between?: Between | null | undefined;
  mode: SamplingMode;
  /** For M4: 1000 unless told */
  points?: number | null | undefined;
  /** Weight of the past in a debiased exponential mean over every point, at least 0 and below 1 */
  smooth?: number | null | undefined;
  /** The x-axis of metrics: EPOCH unless told */
  x?: XAxis | null | undefined;
  /** LOG: buckets are equally wide on a logarithmic x-axis, and what is not above 0 is left out */
  xScale?: Scale | null | undefined;
  /** LOG: of each bucket the least value above 0 stays, besides the first that is not */
  yScale?: Scale | null | undefined;
};

export type SamplingMode =
  /** Every point */
  | 'FULL'
  /** At most `points` points: of each bucket of the axis the first, last, least and greatest */
  | 'M4';

export type Scale =
  | 'LINEAR'
  | 'LOG';

/** Unix seconds from and to, both included. */
export type TimeRange = {
  from?: number | null | undefined;
  to?: number | null | undefined;
};

export type XAxis =
  | 'EPOCH'
  /** Seconds since the job's start */
  | 'RELATIVE'
  /** Unix seconds */
  | 'WALL';

export type BatchAgentQueryVariables = Exact<{
  id: string | number;
}>;


export type BatchAgentQuery = { batch: { agent: { hostId: string, hostname: string, online: boolean, lastSeenAt: string, version: string, running: number } | null } | null };

export type EpochTimesQueryVariables = Exact<{
  batchId: string | number;
  id: string | number;
}>;


export type EpochTimesQuery = { job: { epochTimes: { epochs: Array<number>, times: Array<string> } } | null };

export type FindJobsQueryVariables = Exact<{
  q: Array<string> | string;
  projects: number;
  each: number;
}>;


export type FindJobsQuery = { projects: { edges: Array<{ node: { jobs: { edges: Array<{ node: { jobId: string, batchId: string, status: JobStatus } }> } | null } }> } };

export type SharedMetricsQueryVariables = Exact<{
  token: string;
  keys?: Array<string> | string | null | undefined;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: EpochRange | null | undefined;
  sampling?: Sampling | null | undefined;
}>;


export type SharedMetricsQuery = { sharedBatch: { metrics: Array<{ job: string | null, key: string, steps: Array<number>, values: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, times: Array<number> | null, smoothed: Array<number | 'NaN' | 'Infinity' | '-Infinity'> | null, totalPoints: number, returnedPoints: number, sampled: boolean, nonFinite: number, smoothing: { mean: number | 'NaN' | 'Infinity' | '-Infinity', mass: number | 'NaN' | 'Infinity' | '-Infinity' } | null }> } | null };

export type SharedResourcesQueryVariables = Exact<{
  token: string;
  keys?: Array<string> | string | null | undefined;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: TimeRange | null | undefined;
  sampling?: Sampling | null | undefined;
}>;


export type SharedResourcesQuery = { sharedBatch: { resources: Array<{ job: string | null, key: string, steps: Array<number>, values: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, totalPoints: number, returnedPoints: number, sampled: boolean, nonFinite: number }> } | null };

export type SharedLogQueryVariables = Exact<{
  token: string;
  first: number;
  afterId?: string | number | null | undefined;
  last?: number | null | undefined;
  beforeId?: string | number | null | undefined;
  level?: string | null | undefined;
  q?: string | null | undefined;
  jobId?: string | number | null | undefined;
}>;


export type SharedLogQuery = { sharedBatch: { logLines: { edges: Array<{ cursor: string, node: { dbId: string, timestamp: string, jobId: string, level: string, line: string } }> } } | null };

export type SharedGroupsQueryVariables = Exact<{
  token: string;
  groupBy: string;
  keys?: Array<string> | string | null | undefined;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: EpochRange | null | undefined;
  sampling?: Sampling | null | undefined;
}>;


export type SharedGroupsQuery = { sharedBatch: { metricGroups: Array<{ group: string | null, key: string, jobs: number, steps: Array<number>, ends: Array<number>, mean: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, std: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, min: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, max: Array<number | 'NaN' | 'Infinity' | '-Infinity'>, n: Array<number>, totalPoints: number, nonFinite: number }> } | null };

export type SharedClipsQueryVariables = Exact<{
  token: string;
  keys: Array<string> | string;
  jobs?: Array<string | number> | string | number | null | undefined;
  range?: EpochRange | null | undefined;
  sampling?: Sampling | null | undefined;
  share: number;
}>;


export type SharedClipsQuery = { sharedBatch: { metricClips: Array<{ low: number | 'NaN' | 'Infinity' | '-Infinity' | null, high: number | 'NaN' | 'Infinity' | '-Infinity' | null, hidden: number }> } | null };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}

export const BatchAgentDocument = new TypedDocumentString(`
    query BatchAgent($id: ID!) {
  batch(id: $id) {
    agent {
      hostId
      hostname
      online
      lastSeenAt
      version
      running
    }
  }
}
    `) as unknown as TypedDocumentString<BatchAgentQuery, BatchAgentQueryVariables>;
export const EpochTimesDocument = new TypedDocumentString(`
    query EpochTimes($batchId: ID!, $id: ID!) {
  job(batchId: $batchId, id: $id) {
    epochTimes {
      epochs
      times
    }
  }
}
    `) as unknown as TypedDocumentString<EpochTimesQuery, EpochTimesQueryVariables>;
export const FindJobsDocument = new TypedDocumentString(`
    query FindJobs($q: [String!]!, $projects: Int!, $each: Int!) {
  projects(first: $projects) {
    edges {
      node {
        jobs(first: $each, where: {q: $q}) {
          edges {
            node {
              jobId
              batchId
              status
            }
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<FindJobsQuery, FindJobsQueryVariables>;
export const SharedMetricsDocument = new TypedDocumentString(`
    query SharedMetrics($token: String!, $keys: [String!], $jobs: [ID!], $range: EpochRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    metrics(keys: $keys, jobs: $jobs, range: $range, sampling: $sampling) {
      job
      key
      steps
      values
      times
      smoothed
      smoothing {
        mean
        mass
      }
      totalPoints
      returnedPoints
      sampled
      nonFinite
    }
  }
}
    `) as unknown as TypedDocumentString<SharedMetricsQuery, SharedMetricsQueryVariables>;
export const SharedResourcesDocument = new TypedDocumentString(`
    query SharedResources($token: String!, $keys: [String!], $jobs: [ID!], $range: TimeRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    resources(keys: $keys, jobs: $jobs, range: $range, sampling: $sampling) {
      job
      key
      steps
      values
      totalPoints
      returnedPoints
      sampled
      nonFinite
    }
  }
}
    `) as unknown as TypedDocumentString<SharedResourcesQuery, SharedResourcesQueryVariables>;
export const SharedLogDocument = new TypedDocumentString(`
    query SharedLog($token: String!, $first: Int!, $afterId: ID, $last: Int, $beforeId: ID, $level: String, $q: String, $jobId: ID) {
  sharedBatch(token: $token) {
    logLines(
      first: $first
      afterId: $afterId
      last: $last
      beforeId: $beforeId
      level: $level
      q: $q
      jobId: $jobId
    ) {
      edges {
        cursor
        node {
          dbId
          timestamp
          jobId
          level
          line
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SharedLogQuery, SharedLogQueryVariables>;
export const SharedGroupsDocument = new TypedDocumentString(`
    query SharedGroups($token: String!, $groupBy: String!, $keys: [String!], $jobs: [ID!], $range: EpochRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    metricGroups(
      groupBy: $groupBy
      keys: $keys
      jobs: $jobs
      range: $range
      sampling: $sampling
    ) {
      group
      key
      jobs
      steps
      ends
      mean
      std
      min
      max
      n
      totalPoints
      nonFinite
    }
  }
}
    `) as unknown as TypedDocumentString<SharedGroupsQuery, SharedGroupsQueryVariables>;
export const SharedClipsDocument = new TypedDocumentString(`
    query SharedClips($token: String!, $keys: [String!]!, $jobs: [ID!], $range: EpochRange, $sampling: Sampling, $share: Float!) {
  sharedBatch(token: $token) {
    metricClips(
      keys: $keys
      jobs: $jobs
      range: $range
      sampling: $sampling
      share: $share
    ) {
      low
      high
      hidden
    }
  }
}
    `) as unknown as TypedDocumentString<SharedClipsQuery, SharedClipsQueryVariables>;