import { refuseAborted } from "../../errors.ts";
import { type Attempts, withAttempts } from "./attempts.ts";
import type { S3Connection } from "./client.ts";
import { isMissing, isRefusedCondition, s3Failed } from "./errors.ts";

/** A write that only counts where nothing is yet (`null`), over this ETag, or in any case (`undefined`). */
export type Condition = string | null | undefined;

/** The ETag of what was written, or nothing where the condition no longer held. */
export type Written = string | undefined;

export interface BucketOptions {
  readonly bucket: string;
  /** Empty, or ending with a slash. */
  readonly prefix: string;
  readonly kmsKeyId: string | undefined;
  readonly attempts: Attempts;
  /** Ends every request when it is aborted. */
  readonly signal?: AbortSignal;
  connect(): Promise<S3Connection>;
}

interface Target {
  readonly Bucket: string;
  readonly Key: string;
}

type Request<T> = (connection: S3Connection, target: Target, signal: AbortSignal) => Promise<T>;

/** Requests about objects of one bucket, repeated while they fail in a way that passes; rejects with `StorageFailed`. */
export interface Calls {
  readonly done: <T>(name: string, request: Request<T>) => Promise<T>;
  /** Nothing where the object or upload is not there, or the condition does not hold. */
  readonly orRefused: <T>(name: string, request: Request<T>) => Promise<T | undefined>;
}

export function createCalls({ bucket, prefix, attempts, signal, connect }: BucketOptions): Calls {
  const call = async <T>(name: string, request: Request<T>, isAnswer: (error: unknown) => boolean) => {
    try {
      const connection = await connect();
      const target = { Bucket: bucket, Key: prefix + name };
      return await withAttempts(attempts, (ending) => request(connection, target, ending), signal);
    } catch (error) {
      refuseAborted(signal);
      if (isAnswer(error)) return undefined;
      throw s3Failed(error, `s3://${bucket}/${prefix}${name}`);
    }
  };
  return {
    done: async <T>(name: string, request: Request<T>) => (await call(name, request, () => false)) as T,
    orRefused: (name, request) =>
      call(name, request, (error) => isMissing(error) || isRefusedCondition(error)),
  };
}

/** The headers of a condition. */
export function conditionOf(condition: Condition): { IfNoneMatch?: string; IfMatch?: string } {
  if (condition === undefined) return {};
  return condition === null ? { IfNoneMatch: "*" } : { IfMatch: condition };
}

/** An ETag without quotes: some servers match it only so. */
export function bareTag(etag: string | undefined): string {
  return (etag ?? "").replace(/^W\/|"/g, "");
}
