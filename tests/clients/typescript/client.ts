// What the services offer, from TypeScript. Each function stands by itself; main runs them all and checks what they say.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { inspect, parseArgs } from "node:util";

import { credentials, Metadata, status, type ChannelCredentials, type ServiceError } from "@grpc/grpc-js";

import { SearchMode } from "./gen/emend/v1/common.js";
import {
  AskRequest,
  AskStreamRequest,
  OrchestratorServiceClient,
  type AskResponse,
  type AskStreamResponse,
  type DeepPartial,
  type Question,
  type WalkResult,
} from "./gen/emend/v1/orchestrator.js";
import {
  IngestRequest,
  IngestStatus,
  ListCollectionsRequest,
  RetrieverServiceClient,
  type IngestResponse,
  type ListCollectionsResponse,
} from "./gen/emend/v1/retriever.js";
import { BadRequest, ErrorInfo, ResourceInfo, RetryInfo } from "./gen/google/rpc/error_details.js";
import { Status } from "./gen/google/rpc/status.js";
import { HealthClient, type HealthCheckResponse } from "./gen/health/v1/health.js";

const COLLECTION = "typescript";
const ASKED = "How many days of paid leave does every employee have?";
const DOCUMENTS = {
  "leave.md": "# Leave\n\nEvery employee has 25 days of paid leave a year. Leave is approved by the team lead.\n",
  "travel.md": "# Travel\n\nTrains are booked in second class. Receipts are kept for two years.\n",
};

// region connect
/** How calls are protected; without an authority nothing is encrypted. */
interface Access {
  ca?: Buffer;
  key?: string;
}

function protect({ ca, key }: Access): ChannelCredentials {
  if (ca === undefined) return credentials.createInsecure();
  const encrypted = credentials.createSsl(ca);
  if (key === undefined) return encrypted;
  const bearer = credentials.createFromMetadataGenerator((_call, done) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${key}`);
    done(null, metadata);
  });
  return credentials.combineChannelCredentials(encrypted, bearer);
}

// Calls go to every address in turn; without this, all of them go to the first one that answers.
const OPTIONS = { "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }) };

/** A client of one service: `HOST:PORT`, `dns:///NAME:PORT`, or `ipv4:A:PORT,B:PORT` for several addresses. */
function connect<Client>(
  Service: new (target: string, credentials: ChannelCredentials, options: object) => Client,
  target: string,
  access: Access,
): Client {
  return new Service(target, protect(access), OPTIONS);
}

/** A call of one answer as a promise. */
function answered<Answer>(
  start: (done: (error: ServiceError | null, answer: Answer) => void) => unknown,
): Promise<Answer> {
  return new Promise((resolve, reject) => start((error, answer) => (error ? reject(error) : resolve(answer))));
}

/** A deadline in so many seconds. */
const within = (seconds: number) => ({ deadline: Date.now() + 1000 * seconds });
// endregion

// region health
/** Whether a service takes calls; watch in place of check tells every change. */
async function health(client: HealthClient, service: string) {
  const answer = await answered<HealthCheckResponse>((done) =>
    client.check({ service }, new Metadata(), within(10), done),
  );
  return answer.status;
}
// endregion

// region ingest
/** Stores documents as they come, and learns of each one when it is on disk. */
async function ingest(retriever: RetrieverServiceClient, documents: Record<string, string>) {
  const stream = retriever.ingest(new Metadata(), within(60));
  for (const [id, text] of Object.entries(documents)) {
    stream.write(IngestRequest.fromPartial({ collection: COLLECTION, document: { id, content: Buffer.from(text) } }));
  }
  stream.end();
  const stored: Record<string, IngestStatus> = {};
  for await (const answer of stream as AsyncIterable<IngestResponse>) {
    console.log(`  ${answer.documentId}: ${answer.status} ${answer.passages} passages ${answer.error}`);
    stored[answer.documentId] = answer.status;
  }
  return stored;
}
// endregion

// region ask
/** One question, one answer with its sources. */
async function ask(orchestrator: OrchestratorServiceClient): Promise<WalkResult> {
  const request = AskRequest.fromPartial({
    question: { question: ASKED, collection: COLLECTION, search: SearchMode.SEARCH_MODE_HYBRID },
  });
  const answer = await answered<AskResponse>((done) => orchestrator.ask(request, new Metadata(), within(30), done));
  const result = answer.result!;
  console.log(`  ${result.status}: ${result.answer}`);
  for (const sentence of result.sentences) {
    for (const citation of sentence.citations) {
      const document = result.documents[citation.number - 1].passage!;
      console.log(`  [${citation.number}] ${document.source}: ${sentence.text}`);
    }
  }
  return result;
}
// endregion

// region stream
/** The same as a stream: what the walk does while it does it, and the result as the last event. */
async function stream(orchestrator: OrchestratorServiceClient): Promise<WalkResult | undefined> {
  const request = AskStreamRequest.fromPartial({ question: { question: ASKED, collection: COLLECTION } });
  const events = orchestrator.askStream(request, new Metadata(), within(30)) as AsyncIterable<AskStreamResponse>;
  let result: WalkResult | undefined;
  for await (const { event } of events) {
    switch (event?.event?.$case) {
      case "stepFinished": {
        const step = event.event.value.step!;
        console.log(`  ${step.number}. ${step.node}: ${step.outcome} ${step.summary}`);
        break;
      }
      case "textDelta": // not graded yet
        console.log(`  … ${event.event.value.text}`);
        break;
      case "sentenceRetracted":
        console.log(`  withdrawn: ${event.event.value.sentence?.text}`);
        break;
      case "finished":
        result = event.event.value;
    }
  }
  return result;
}
// endregion

// region errors
/** What an error says besides its message: reason, what that is about, wrong fields, seconds until to come back. */
function explain(error: ServiceError) {
  const fields: Record<string, string> = {};
  let reason = "";
  let resource: string[] | undefined;
  let retryAfter: number | undefined;
  for (const encoded of error.metadata.get("grpc-status-details-bin")) {
    for (const { typeUrl, value } of Status.decode(encoded as Buffer).details) {
      switch (typeUrl.split("/").pop()) {
        case "google.rpc.ErrorInfo":
          reason = ErrorInfo.decode(value).reason; // an ErrorReason without its prefix
          break;
        case "google.rpc.ResourceInfo": {
          const { resourceType, resourceName } = ResourceInfo.decode(value);
          resource = [resourceType, resourceName];
          break;
        }
        case "google.rpc.BadRequest":
          for (const violation of BadRequest.decode(value).fieldViolations) {
            fields[violation.field] = violation.description;
          }
          break;
        case "google.rpc.RetryInfo": {
          const delay = RetryInfo.decode(value).retryDelay;
          retryAfter = delay && delay.seconds + delay.nanos / 1e9;
        }
      }
    }
  }
  return { code: status[error.code], message: error.details, reason, resource, fields, retryAfter };
}
// endregion

/** What is said of a question that is refused. */
async function refused(orchestrator: OrchestratorServiceClient, question: DeepPartial<Question>) {
  const request = AskRequest.fromPartial({ question });
  try {
    await answered<AskResponse>((done) => orchestrator.ask(request, new Metadata(), within(10), done));
  } catch (error) {
    return explain(error as ServiceError);
  }
  throw new Error(`${JSON.stringify(question)} was answered`);
}

/** An error that says when to try again: a retriever takes so many streams of documents and no more. */
async function tooManyStreams(retriever: RetrieverServiceClient) {
  const held = [];
  try {
    for (let number = 0; number < 100; number++) {
      const stream = retriever.ingest(new Metadata(), within(60));
      stream.on("error", () => {}); // it is cancelled below
      held.push(stream);
      const document = { id: `held-${number}`, content: Buffer.from("This stream stays open.") };
      stream.write(IngestRequest.fromPartial({ collection: COLLECTION, document }));
      await once(stream, "data");
    }
  } catch (error) {
    return explain(error as ServiceError);
  } finally {
    for (const stream of held) stream.cancel();
  }
  throw new Error("there is no end of streams");
}

// region deadline
/** A deadline is sent along and holds at every service: a walk ends before it with what it has. */
async function deadline(orchestrator: OrchestratorServiceClient) {
  const request = AskRequest.fromPartial({ question: { question: ASKED, collection: COLLECTION } });
  try {
    const answer = await answered<AskResponse>((done) => orchestrator.ask(request, new Metadata(), within(3), done));
    return answer.result!.status;
  } catch (error) {
    if ((error as ServiceError).code !== status.DEADLINE_EXCEEDED) throw error;
    return "DEADLINE_EXCEEDED";
  }
}
// endregion

// region cancel
/** Whoever has seen enough cancels: the walk stops at every service. */
async function cancel(orchestrator: OrchestratorServiceClient) {
  const request = AskStreamRequest.fromPartial({ question: { question: ASKED, collection: COLLECTION } });
  const events = orchestrator.askStream(request, new Metadata(), within(60));
  try {
    for await (const _event of events) events.cancel();
  } catch (error) {
    return status[(error as ServiceError).code];
  }
  return "OK";
}
// endregion

// region balance
/** Calls over several addresses. Here each has a collection of its own, which shows who answered. */
async function balance(addresses: string[], access: Access) {
  const retriever = connect(RetrieverServiceClient, `ipv4:${addresses.join(",")}`, access);
  const request = ListCollectionsRequest.fromPartial({});
  const ready = new Metadata({ waitForReady: true });
  const seen = new Set<string>();
  for (let call = 0; seen.size < addresses.length && call < 10_000; call++) {
    // until all connections stand
    const answer = await answered<ListCollectionsResponse>((done) =>
      retriever.listCollections(request, ready, within(10), done),
    );
    seen.add(answer.collections.map((collection) => collection.name).join(" "));
  }
  retriever.close();
  return seen;
}
// endregion

// region trace
/** A W3C `traceparent` makes the walk a part of the caller's trace. OpenTelemetry's instrumentation of gRPC sends it. */
async function trace(orchestrator: OrchestratorServiceClient) {
  const traceId = randomBytes(16).toString("hex");
  const metadata = new Metadata();
  metadata.set("traceparent", `00-${traceId}-${randomBytes(8).toString("hex")}-01`);
  const request = AskRequest.fromPartial({ question: { question: ASKED, collection: COLLECTION } });
  const answer = await answered<AskResponse>((done) => orchestrator.ask(request, metadata, within(30), done));
  return { sent: traceId, told: answer.result!.traceId };
}
// endregion

async function main() {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: { orchestrator: text, retriever: text, slow: text, balance: text, ca: text, "api-key-file": text },
  });
  if (!values.orchestrator || !values.retriever || !values.slow || !values.balance) {
    throw new Error("give --orchestrator, --retriever, --slow (HOST:PORT) and --balance (HOST:PORT,HOST:PORT)");
  }
  const access: Access = {
    ca: values.ca ? readFileSync(values.ca) : undefined,
    key: values["api-key-file"] ? readFileSync(values["api-key-file"], "utf8").trim() : undefined,
  };
  const orchestrator = connect(OrchestratorServiceClient, values.orchestrator, access);
  const retriever = connect(RetrieverServiceClient, values.retriever, access);
  const slow = connect(OrchestratorServiceClient, values.slow, access);
  const addresses = values.balance.split(",");

  /** Makes a call, shows what it returned, and notes what is not right. */
  async function check<Value>(name: string, call: () => Promise<Value>, right: (value: Value) => boolean) {
    console.log(`${name}:`);
    try {
      const value = await call();
      console.log(" ", inspect(value, { depth: 1, breakLength: Infinity }).slice(0, 300));
      if (right(value)) return;
      console.error(`FAILED ${name}:`, value);
    } catch (error) {
      console.error(`FAILED ${name}:`, error);
    }
    process.exitCode = 1;
  }

  const serving = (value: string) => value === "SERVING";
  const probe = connect(HealthClient, values.orchestrator, access);
  await check("health", () => health(probe, "emend.v1.OrchestratorService"), serving);
  await check("ingest", () => ingest(retriever, DOCUMENTS), (stored) =>
    Object.keys(DOCUMENTS).every((id) => stored[id] === IngestStatus.INGEST_STATUS_INGESTED),
  );
  const answers = (result?: WalkResult) => result !== undefined && result.answer.includes("25 days");
  await check("ask", () => ask(orchestrator), answers);
  await check("stream", () => stream(orchestrator), answers);
  const wrong = { question: "", options: { no_such_option: 1 } };
  await check("errors", () => refused(orchestrator, wrong), (said) =>
    said.code === "INVALID_ARGUMENT" && said.reason === "FIELD_INVALID" && "question.question" in said.fields,
  );
  const elsewhere = { question: ASKED, collection: "absent" };
  await check("unknown", () => refused(orchestrator, elsewhere), (said) =>
    said.reason === "COLLECTION_NOT_FOUND" && said.resource?.join(" ") === "collection absent",
  );
  await check("retry", () => tooManyStreams(retriever), (said) =>
    said.code === "RESOURCE_EXHAUSTED" && said.retryAfter !== undefined && said.retryAfter > 0,
  );
  await check("deadline", () => deadline(slow), (end) => end === "WALK_STATUS_FAILED");
  await check("cancel", () => cancel(slow), (code) => code === "CANCELLED");
  await check("balance", () => balance(addresses, access), (seen) => seen.size === addresses.length);
  await check("trace", () => trace(orchestrator), ({ sent, told }) => sent === told);
  for (const client of [orchestrator, retriever, slow, probe]) client.close();
}

await main();
