// A client of Emend: the stubs of its contracts, `emend.v1`, and a few conveniences.

import {
  credentials,
  Metadata,
  status,
  type CallOptions,
  type ChannelCredentials,
  type ServiceError,
} from "@grpc/grpc-js";

import {
  AskRequest,
  AskStreamRequest,
  OrchestratorServiceClient,
  type AskResponse,
  type AskStreamResponse,
  type DeepPartial,
  type Question,
  type WalkEvent,
  type WalkResult,
} from "./gen/emend/v1/orchestrator.js";
import { IngestRequest, RetrieverServiceClient, type Document, type IngestResponse } from "./gen/emend/v1/retriever.js";
import type { ErrorReason } from "./gen/emend/v1/error.js";
import { BadRequest, ErrorInfo, ResourceInfo, RetryInfo } from "./gen/google/rpc/error_details.js";
import { Status } from "./gen/google/rpc/status.js";

// What is used most; `emend-client/emend/v1/NAME` has the whole of each file of the contracts.
export { Relevance, SearchMode, Support } from "./gen/emend/v1/common.js";
export { Limit, WalkStatus } from "./gen/emend/v1/orchestrator.js";
export { DocumentFormat, IngestStatus } from "./gen/emend/v1/retriever.js";
export type { Document, IngestResponse, Question, WalkEvent, WalkResult };

/** `HOST:PORT` or a target of gRPC such as `dns:///NAME:PORT`, or several `IP:PORT`, which get calls in turn. */
export type Address = string | readonly string[];

/** Where the services are, and how they are reached. */
export interface ClientOptions {
  /** The orchestrator; `localhost:50050` unless given. */
  orchestrator?: Address;
  /** The retriever; without it there is nothing to store documents in. */
  retriever?: Address;
  /** PEM of the authority that signed the services' certificates; without it nothing is encrypted. */
  ca?: Buffer;
  /** The API key, which goes with every call; needs `ca`. */
  apiKey?: string;
  /** How long a call may take, in seconds; 60 unless given. */
  timeout?: number;
}

/** What a question may say besides its text: any field of the contract's `Question`. */
export type QuestionOptions = Omit<DeepPartial<Question>, "question">;

/** A document with its id and its text or bytes, and any other field of the contract's `Document`. */
export type NewDocument = Omit<Partial<Document>, "content"> & { id: string; content: string | Uint8Array };

/** Asks an orchestrator, and stores documents in a retriever. */
export class Client {
  /** All calls of the orchestrator. */
  readonly orchestrator: OrchestratorServiceClient;
  /** All calls of the retriever. */
  readonly retriever?: RetrieverServiceClient;
  readonly #timeout: number;

  constructor(options: ClientOptions = {}) {
    const protection = protect(options);
    this.#timeout = options.timeout ?? 60;
    const config = { "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }) };
    this.orchestrator = new OrchestratorServiceClient(
      target(options.orchestrator ?? "localhost:50050"),
      protection,
      config,
    );
    if (options.retriever !== undefined) {
      this.retriever = new RetrieverServiceClient(target(options.retriever), protection, config);
    }
  }

  /** Asks a question. */
  ask(question: string, options: QuestionOptions = {}): Promise<WalkResult> {
    const request = AskRequest.fromPartial({ question: { ...options, question } });
    return new Promise((resolve, reject) => {
      this.orchestrator.ask(request, new Metadata(), this.#within(), (error: ServiceError | null, answer: AskResponse) =>
        error ? reject(error) : resolve(answer.result!),
      );
    });
  }

  /** The same as events; the last one is `finished`. Leaving the loop cancels the walk. */
  async *askStream(question: string, options: QuestionOptions = {}): AsyncGenerator<WalkEvent> {
    const request = AskStreamRequest.fromPartial({ question: { ...options, question } });
    const call = this.orchestrator.askStream(request, new Metadata(), this.#within());
    call.on("error", () => {}); // after the loop was left; within it, the loop throws
    try {
      for await (const { event } of call as AsyncIterable<AskStreamResponse>) {
        if (event !== undefined) yield event;
      }
    } finally {
      call.cancel();
    }
  }

  /**
   * Stores documents, and tells of each one when it is on disk. Read all answers: what is not answered may not be stored.
   * `timeout` is for all documents together, in seconds.
   */
  async *ingest(
    documents: Iterable<NewDocument> | AsyncIterable<NewDocument>,
    collection = "",
    timeout = this.#timeout,
  ): AsyncGenerator<IngestResponse> {
    if (this.retriever === undefined) throw new Error("documents are stored by a retriever: give Client its address");
    const call = this.retriever.ingest(new Metadata(), this.#within(timeout));
    call.on("error", () => {});
    let stopped = false;
    const send = async () => {
      for await (const { content, ...rest } of documents) {
        if (stopped) return;
        const bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
        const request = IngestRequest.fromPartial({ collection, document: { ...rest, content: bytes } });
        await new Promise<void>((sent) => call.write(request, () => sent()));
      }
      call.end();
    };
    // What goes wrong in the caller's documents ends the call, and is told where the answers are read.
    let wrong: unknown;
    const sending = send().catch((error: unknown) => {
      wrong = error;
      call.cancel();
    });
    try {
      for await (const answer of call as AsyncIterable<IngestResponse>) yield answer;
      await sending;
    } catch (error) {
      throw wrong ?? error;
    } finally {
      stopped = true;
      call.cancel();
    }
  }

  /** Ends the connections. */
  close(): void {
    this.orchestrator.close();
    this.retriever?.close();
  }

  #within(timeout = this.#timeout): CallOptions {
    return { deadline: Date.now() + 1000 * timeout };
  }
}

type WithoutPrefix<Name> = Name extends `ERROR_REASON_${infer Rest}` ? Rest : never;

/** Name of an `ErrorReason` of the contracts without its prefix, such as `COLLECTION_NOT_FOUND`. */
export type Reason = WithoutPrefix<keyof typeof ErrorReason>;

/** What an error says besides its message. */
export interface Explained {
  /** Name of the gRPC code. */
  code: string;
  message: string;
  /** Why; undefined where there is none, or it is not of Emend. A newer service may send one that is not in the type. */
  reason?: Reason;
  /** What the reason is about. */
  resource?: { type: string; name: string };
  /** What is wrong, by field. */
  fields: Record<string, string>;
  /** Seconds until it makes sense to try again; undefined where it makes none, or nobody knows. */
  retryAfter?: number;
}

/** Reads what a service says about an error of a call. */
export function explain(error: ServiceError): Explained {
  const said: Explained = { code: status[error.code], message: error.details, fields: {} };
  for (const encoded of error.metadata.get("grpc-status-details-bin")) {
    for (const { typeUrl, value } of Status.decode(encoded as Buffer).details) {
      const type = typeUrl.split("/").pop();
      if (type === "google.rpc.ErrorInfo") {
        const info = ErrorInfo.decode(value);
        if (info.domain === "emend") said.reason = info.reason as Reason;
      } else if (type === "google.rpc.ResourceInfo") {
        const { resourceType, resourceName } = ResourceInfo.decode(value);
        said.resource = { type: resourceType, name: resourceName };
      } else if (type === "google.rpc.BadRequest") {
        for (const violation of BadRequest.decode(value).fieldViolations) {
          said.fields[violation.field] = violation.description;
        }
      } else if (type === "google.rpc.RetryInfo") {
        const delay = RetryInfo.decode(value).retryDelay;
        said.retryAfter = delay && delay.seconds + delay.nanos / 1e9;
      }
    }
  }
  return said;
}

function target(address: Address): string {
  if (typeof address === "string") return address;
  if (address.length === 0) throw new Error("no address is given");
  return `${address[0].startsWith("[") ? "ipv6" : "ipv4"}:${address.join(",")}`;
}

function protect({ ca, apiKey }: ClientOptions): ChannelCredentials {
  if (ca === undefined) {
    if (apiKey !== undefined) throw new Error("a key without ca would be sent in the clear: give ca too");
    return credentials.createInsecure();
  }
  const encrypted = credentials.createSsl(ca);
  if (apiKey === undefined) return encrypted;
  const bearer = credentials.createFromMetadataGenerator((_call, done) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${apiKey}`);
    done(null, metadata);
  });
  return credentials.combineChannelCredentials(encrypted, bearer);
}
