import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.ResourceInfo;
import com.google.rpc.RetryInfo;
import emend.v1.AskRequest;
import emend.v1.AskStreamRequest;
import emend.v1.AskStreamResponse;
import emend.v1.Citation;
import emend.v1.Collection;
import emend.v1.Document;
import emend.v1.IngestRequest;
import emend.v1.IngestResponse;
import emend.v1.IngestStatus;
import emend.v1.ListCollectionsRequest;
import emend.v1.OrchestratorServiceGrpc;
import emend.v1.OrchestratorServiceGrpc.OrchestratorServiceBlockingStub;
import emend.v1.Passage;
import emend.v1.Question;
import emend.v1.RetrieverServiceGrpc;
import emend.v1.SearchMode;
import emend.v1.Sentence;
import emend.v1.Step;
import emend.v1.WalkEvent;
import emend.v1.WalkResult;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.EquivalentAddressGroup;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Status;
import io.grpc.StatusOr;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** What the services offer, from Java. Each method stands by itself; main runs them all and checks what they say. */
public final class Client {
  static final String COLLECTION = "java";
  static final String ASKED = "How many days of paid leave does every employee have?";
  static final Map<String, String> DOCUMENTS =
      Map.of(
          "leave.md", "# Leave\n\nEvery employee has 25 days of paid leave a year. The team lead approves it.\n",
          "travel.md", "# Travel\n\nTrains are booked in second class. Receipts are kept for two years.\n");

  // region connect
  /** How calls are protected; without an authority nothing is encrypted. */
  record Access(File ca, String key) {}

  static Metadata header(String name, String value) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return headers;
  }

  /** A channel to one service: HOST:PORT or dns:///NAME:PORT. */
  static ManagedChannel connect(String target, Access access) throws IOException {
    ChannelCredentials credentials =
        access.ca() == null
            ? InsecureChannelCredentials.create()
            : TlsChannelCredentials.newBuilder().trustManager(access.ca()).build();
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilder(target, credentials)
            // Calls go to every address in turn; without this, all of them go to the first one that answers.
            .defaultLoadBalancingPolicy("round_robin");
    if (access.ca() != null && access.key() != null) {
      builder.intercept(MetadataUtils.newAttachHeadersInterceptor(header("authorization", "Bearer " + access.key())));
    }
    return builder.build();
  }

  /** Calls of the orchestrator that wait for their answers, so many seconds each. */
  static OrchestratorServiceBlockingStub orchestrator(Channel channel, int seconds) {
    return OrchestratorServiceGrpc.newBlockingStub(channel).withDeadlineAfter(seconds, TimeUnit.SECONDS);
  }

  // endregion

  // region health
  /** Whether a service takes calls; watch in place of check tells every change. */
  static String health(Channel channel, String service) {
    HealthCheckRequest request = HealthCheckRequest.newBuilder().setService(service).build();
    return HealthGrpc.newBlockingStub(channel)
        .withDeadlineAfter(10, TimeUnit.SECONDS)
        .check(request)
        .getStatus()
        .name();
  }

  // endregion

  // region ingest
  /** Stores documents as they come, and learns of each one when it is on disk. */
  static Map<String, IngestStatus> ingest(Channel channel) throws InterruptedException, ExecutionException {
    Map<String, IngestStatus> stored = new ConcurrentHashMap<>();
    CompletableFuture<Map<String, IngestStatus>> done = new CompletableFuture<>();
    StreamObserver<IngestRequest> documents =
        RetrieverServiceGrpc.newStub(channel)
            .withDeadlineAfter(60, TimeUnit.SECONDS)
            .ingest(
                new StreamObserver<>() {
                  @Override
                  public void onNext(IngestResponse answer) {
                    System.out.printf("  %s: %s %s%n", answer.getDocumentId(), answer.getStatus(), answer.getError());
                    stored.put(answer.getDocumentId(), answer.getStatus());
                  }

                  @Override
                  public void onError(Throwable error) {
                    done.completeExceptionally(error);
                  }

                  @Override
                  public void onCompleted() {
                    done.complete(stored);
                  }
                });
    DOCUMENTS.forEach(
        (id, text) -> {
          Document document = Document.newBuilder().setId(id).setContent(ByteString.copyFromUtf8(text)).build();
          documents.onNext(IngestRequest.newBuilder().setCollection(COLLECTION).setDocument(document).build());
        });
    documents.onCompleted();
    return done.get();
  }

  // endregion

  // region ask
  /** One question, one answer with its sources. */
  static WalkResult ask(Channel channel) {
    Question question =
        Question.newBuilder()
            .setQuestion(ASKED)
            .setCollection(COLLECTION)
            .setSearch(SearchMode.SEARCH_MODE_HYBRID)
            .build();
    AskRequest request = AskRequest.newBuilder().setQuestion(question).build();
    WalkResult result = orchestrator(channel, 30).ask(request).getResult();
    System.out.println("  " + result.getStatus() + ": " + result.getAnswer());
    for (Sentence sentence : result.getSentencesList()) {
      for (Citation citation : sentence.getCitationsList()) {
        Passage document = result.getDocuments(citation.getNumber() - 1).getPassage();
        System.out.printf("  [%d] %s: %s%n", citation.getNumber(), document.getSource(), sentence.getText());
      }
    }
    return result;
  }

  // endregion

  static Question question() {
    return Question.newBuilder().setQuestion(ASKED).setCollection(COLLECTION).build();
  }

  // region stream
  /** The same as a stream: what the walk does while it does it, and the result as the last event. */
  static WalkResult stream(Channel channel) {
    AskStreamRequest request = AskStreamRequest.newBuilder().setQuestion(question()).build();
    WalkResult result = null;
    Iterator<AskStreamResponse> events = orchestrator(channel, 30).askStream(request);
    while (events.hasNext()) {
      WalkEvent event = events.next().getEvent();
      switch (event.getEventCase()) {
        case STEP_FINISHED -> {
          Step step = event.getStepFinished().getStep();
          System.out.printf(
              "  %d. %s: %s %s%n", step.getNumber(), step.getNode(), step.getOutcome(), step.getSummary());
        }
        case TEXT_DELTA -> System.out.println("  … " + event.getTextDelta().getText()); // not graded yet
        case SENTENCE_RETRACTED ->
            System.out.println("  withdrawn: " + event.getSentenceRetracted().getSentence().getText());
        case FINISHED -> result = event.getFinished();
        default -> {}
      }
    }
    return result;
  }

  // endregion

  // region errors
  /** What an error says besides its message: reason, what that is about, wrong fields, seconds until to come back. */
  record Explained(
      Status.Code code, String reason, String resource, Map<String, String> fields, double retryAfter) {}

  static Explained explain(StatusRuntimeException error) throws InvalidProtocolBufferException {
    String reason = ""; // an ErrorReason without its prefix
    String resource = "";
    Map<String, String> fields = new HashMap<>();
    double retryAfter = 0;
    for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        reason = detail.unpack(ErrorInfo.class).getReason();
      } else if (detail.is(ResourceInfo.class)) {
        ResourceInfo about = detail.unpack(ResourceInfo.class);
        resource = about.getResourceType() + " " + about.getResourceName();
      } else if (detail.is(BadRequest.class)) {
        for (BadRequest.FieldViolation violation : detail.unpack(BadRequest.class).getFieldViolationsList()) {
          fields.put(violation.getField(), violation.getDescription());
        }
      } else if (detail.is(RetryInfo.class)) {
        var delay = detail.unpack(RetryInfo.class).getRetryDelay();
        retryAfter = delay.getSeconds() + delay.getNanos() / 1e9;
      }
    }
    return new Explained(error.getStatus().getCode(), reason, resource, fields, retryAfter);
  }

  // endregion

  /** What is said of a question that is refused. */
  static Explained refused(Channel channel, Question question) throws InvalidProtocolBufferException {
    try {
      orchestrator(channel, 10).ask(AskRequest.newBuilder().setQuestion(question).build());
    } catch (StatusRuntimeException error) {
      return explain(error);
    }
    throw new IllegalStateException(question + " was answered");
  }

  /** An error that says when to try again: a retriever takes so many streams of documents and no more. */
  static Explained tooManyStreams(Channel channel) throws Exception {
    List<StreamObserver<IngestRequest>> held = new ArrayList<>();
    try {
      for (int number = 0; number < 100; number++) {
        CompletableFuture<IngestResponse> acknowledged = new CompletableFuture<>();
        StreamObserver<IngestRequest> documents =
            RetrieverServiceGrpc.newStub(channel)
                .withDeadlineAfter(60, TimeUnit.SECONDS)
                .ingest(
                    new StreamObserver<>() {
                      @Override
                      public void onNext(IngestResponse answer) {
                        acknowledged.complete(answer);
                      }

                      @Override
                      public void onError(Throwable error) {
                        acknowledged.completeExceptionally(error);
                      }

                      @Override
                      public void onCompleted() {}
                    });
        held.add(documents);
        ByteString text = ByteString.copyFromUtf8("This stream stays open.");
        Document document = Document.newBuilder().setId("held-" + number).setContent(text).build();
        documents.onNext(IngestRequest.newBuilder().setCollection(COLLECTION).setDocument(document).build());
        acknowledged.get();
      }
    } catch (ExecutionException refused) {
      held.remove(held.size() - 1);
      return explain((StatusRuntimeException) refused.getCause());
    } finally {
      Throwable enough = Status.CANCELLED.asRuntimeException();
      held.forEach(documents -> documents.onError(enough));
    }
    throw new IllegalStateException("there is no end of streams");
  }

  // region deadline
  /** A deadline is sent along and holds at every service: a walk ends before it with what it has. */
  static String deadline(Channel channel) {
    AskRequest request = AskRequest.newBuilder().setQuestion(question()).build();
    try {
      return orchestrator(channel, 3).ask(request).getResult().getStatus().name();
    } catch (StatusRuntimeException error) {
      if (error.getStatus().getCode() != Status.Code.DEADLINE_EXCEEDED) {
        throw error;
      }
      return Status.Code.DEADLINE_EXCEEDED.name();
    }
  }

  // endregion

  // region cancel
  /** Whoever has seen enough cancels: the walk stops at every service. */
  static Status.Code cancel(Channel channel) {
    AskStreamRequest request = AskStreamRequest.newBuilder().setQuestion(question()).build();
    Context.CancellableContext context = Context.current().withCancellation();
    Context before = context.attach();
    try {
      Iterator<AskStreamResponse> events = orchestrator(channel, 60).askStream(request);
      events.next();
      context.cancel(null);
      while (events.hasNext()) {
        events.next();
      }
      return Status.Code.OK;
    } catch (StatusRuntimeException error) {
      return error.getStatus().getCode();
    } finally {
      context.detach(before);
    }
  }

  // endregion

  // region balance
  /** Names of several addresses: list:///HOST:PORT,HOST:PORT. A name in DNS needs none of this: dns:///NAME:PORT. */
  static final class AddressList extends NameResolverProvider {
    @Override
    protected boolean isAvailable() {
      return true;
    }

    @Override
    protected int priority() {
      return 5;
    }

    @Override
    public String getDefaultScheme() {
      return "list";
    }

    @Override
    public NameResolver newNameResolver(URI target, NameResolver.Args arguments) {
      if (!target.getScheme().equals("list")) {
        return null;
      }
      String[] names = target.getPath().substring(1).split(",");
      List<EquivalentAddressGroup> addresses = new ArrayList<>();
      for (String name : names) {
        int colon = name.lastIndexOf(':');
        SocketAddress address =
            new InetSocketAddress(name.substring(0, colon), Integer.parseInt(name.substring(colon + 1)));
        addresses.add(new EquivalentAddressGroup(address));
      }
      return new NameResolver() {
        @Override
        public String getServiceAuthority() {
          return names[0];
        }

        @Override
        public void start(Listener2 listener) {
          listener.onResult(ResolutionResult.newBuilder().setAddressesOrError(StatusOr.fromValue(addresses)).build());
        }

        @Override
        public void shutdown() {}
      };
    }
  }

  /** Calls over several addresses. Here each has a collection of its own, which shows who answered. */
  static Set<String> balance(String addresses, Access access) throws IOException {
    NameResolverRegistry.getDefaultRegistry().register(new AddressList());
    ManagedChannel channel = connect("list:///" + addresses, access);
    Set<String> seen = new TreeSet<>();
    for (int call = 0; call < 10_000 && seen.size() < 2; call++) { // until both connections stand
      List<String> names =
          RetrieverServiceGrpc.newBlockingStub(channel)
              .withDeadlineAfter(10, TimeUnit.SECONDS)
              .withWaitForReady()
              .listCollections(ListCollectionsRequest.getDefaultInstance())
              .getCollectionsList()
              .stream()
              .map(Collection::getName)
              .toList();
      seen.add(String.join(" ", names));
    }
    channel.shutdownNow();
    return seen;
  }

  // endregion

  // region trace
  /** A W3C traceparent makes the walk a part of the caller's trace. OpenTelemetry's instrumentation of gRPC sends it. */
  static List<String> trace(Channel channel) {
    byte[] random = new byte[24];
    new SecureRandom().nextBytes(random);
    String traceId = HexFormat.of().formatHex(random, 0, 16);
    String parent = "00-" + traceId + "-" + HexFormat.of().formatHex(random, 16, 24) + "-01";
    ClientInterceptor traced = MetadataUtils.newAttachHeadersInterceptor(header("traceparent", parent));
    AskRequest request = AskRequest.newBuilder().setQuestion(question()).build();
    return List.of(traceId, orchestrator(channel, 30).withInterceptors(traced).ask(request).getResult().getTraceId());
  }

  // endregion

  static boolean failed = false;

  /** Makes a call, shows what it returned, and notes what is not right. */
  static <V> void check(String name, Callable<V> call, Predicate<V> right) {
    System.out.println(name + ":");
    try {
      V value = call.call();
      String shown = String.valueOf(value);
      System.out.println("  " + shown.substring(0, Math.min(shown.length(), 300)));
      if (right.test(value)) {
        return;
      }
      System.err.println("FAILED " + name + ": " + value);
    } catch (Exception error) {
      System.err.println("FAILED " + name + ": " + error);
    }
    failed = true;
  }

  /** Takes --orchestrator, --retriever, --slow and --balance with addresses; --ca and --api-key-file with files. */
  public static void main(String[] arguments) throws IOException {
    Map<String, String> given = new HashMap<>();
    for (int index = 0; index + 1 < arguments.length; index += 2) {
      given.put(arguments[index], arguments[index + 1]);
    }
    if (!given.keySet().containsAll(Set.of("--orchestrator", "--retriever", "--slow", "--balance"))) {
      System.err.println("give --orchestrator, --retriever, --slow (HOST:PORT) and --balance (HOST:PORT,HOST:PORT)");
      System.exit(2);
    }
    String ca = given.get("--ca");
    String keyFile = given.get("--api-key-file");
    Access access =
        new Access(
            ca == null ? null : new File(ca), keyFile == null ? null : Files.readString(Path.of(keyFile)).strip());
    ManagedChannel orchestrator = connect(given.get("--orchestrator"), access);
    ManagedChannel retriever = connect(given.get("--retriever"), access);
    ManagedChannel slow = connect(given.get("--slow"), access);
    Predicate<WalkResult> answers = result -> result.getAnswer().contains("25 days");

    check("health", () -> health(orchestrator, "emend.v1.OrchestratorService"), "SERVING"::equals);
    check(
        "ingest",
        () -> ingest(retriever),
        stored ->
            stored.keySet().equals(DOCUMENTS.keySet())
                && Set.copyOf(stored.values()).equals(Set.of(IngestStatus.INGEST_STATUS_INGESTED)));
    check("ask", () -> ask(orchestrator), answers);
    check("stream", () -> stream(orchestrator), answers);
    check(
        "errors",
        () -> refused(orchestrator, Question.newBuilder().putOptions("no_such_option", 1).build()),
        said ->
            said.code() == Status.Code.INVALID_ARGUMENT
                && said.reason().equals("FIELD_INVALID")
                && said.fields().containsKey("question.question"));
    check(
        "unknown",
        () -> refused(orchestrator, question().toBuilder().setCollection("absent").build()),
        said -> said.reason().equals("COLLECTION_NOT_FOUND") && said.resource().equals("collection absent"));
    check(
        "retry",
        () -> tooManyStreams(retriever),
        said -> said.code() == Status.Code.RESOURCE_EXHAUSTED && said.retryAfter() > 0);
    check("deadline", () -> deadline(slow), "WALK_STATUS_FAILED"::equals);
    check("cancel", () -> cancel(slow), Status.Code.CANCELLED::equals);
    check("balance", () -> balance(given.get("--balance"), access), seen -> seen.size() == 2);
    check("trace", () -> trace(orchestrator), ids -> ids.get(0).equals(ids.get(1)));
    List.of(orchestrator, retriever, slow).forEach(ManagedChannel::shutdownNow);
    System.exit(failed ? 1 : 0);
  }
}
