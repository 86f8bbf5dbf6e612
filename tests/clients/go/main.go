// What the services offer, from Go. Each function stands by itself; main runs them all and checks what they say.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	emend "emendclient/gen/emend/v1"
)

const (
	collection = "go"
	asked      = "How many days of paid leave does every employee have?"
)

var documents = []*emend.Document{
	{Id: "leave.md", Content: []byte("# Leave\n\nEvery employee has 25 days of paid leave a year. Leave is approved by the team lead.\n")},
	{Id: "travel.md", Content: []byte("# Travel\n\nTrains are booked in second class. Receipts are kept for two years.\n")},
}

// region connect

// Access is how calls are protected; without an authority nothing is encrypted.
type Access struct{ CA, Key string }

// bearer is an API key, which goes with every call and never without TLS.
type bearer string

func (key bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(key)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }

// connect makes a channel to one service: HOST:PORT or dns:///NAME:PORT.
func connect(target string, access Access, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	options := append(more,
		// Calls go to every address in turn; without this, all of them go to the first one that answers.
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	if access.CA == "" {
		return grpc.NewClient(target, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	}
	tls, err := credentials.NewClientTLSFromFile(access.CA, "")
	if err != nil {
		return nil, err
	}
	options = append(options, grpc.WithTransportCredentials(tls))
	if access.Key != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(access.Key)))
	}
	return grpc.NewClient(target, options...)
}

// endregion

// region health

// health says whether a service takes calls; Watch in place of Check tells every change.
func health(ctx context.Context, conn *grpc.ClientConn, service string) (string, error) {
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	return answer.GetStatus().String(), err
}

// endregion

// region ingest

// ingest stores documents as they come, and learns of each one when it is on disk.
func ingest(ctx context.Context, conn *grpc.ClientConn) (map[string]emend.IngestStatus, error) {
	stream, err := emend.NewRetrieverServiceClient(conn).Ingest(ctx)
	if err != nil {
		return nil, err
	}
	go func() {
		for _, document := range documents {
			// A stream that broke says why in Recv.
			if stream.Send(&emend.IngestRequest{Collection: collection, Document: document}) != nil {
				return
			}
		}
		stream.CloseSend()
	}()
	stored := map[string]emend.IngestStatus{}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stored, nil
		}
		if err != nil {
			return stored, err
		}
		fmt.Printf("  %s: %s %d passages %s\n", answer.DocumentId, answer.Status, answer.Passages, answer.Error)
		stored[answer.DocumentId] = answer.Status
	}
}

// endregion

// region ask

// ask has one question, one answer with its sources.
func ask(ctx context.Context, conn *grpc.ClientConn) (*emend.WalkResult, error) {
	question := &emend.Question{Question: asked, Collection: collection, Search: emend.SearchMode_SEARCH_MODE_HYBRID}
	answer, err := emend.NewOrchestratorServiceClient(conn).Ask(ctx, &emend.AskRequest{Question: question})
	if err != nil {
		return nil, err
	}
	result := answer.Result
	fmt.Printf("  %s: %s\n", result.Status, result.Answer)
	for _, sentence := range result.Sentences {
		for _, citation := range sentence.Citations {
			document := result.Documents[citation.Number-1].Passage
			fmt.Printf("  [%d] %s: %s\n", citation.Number, document.Source, sentence.Text)
		}
	}
	return result, nil
}

// endregion

// region stream

// stream is the same as a stream: what the walk does while it does it, and the result as the last event.
func stream(ctx context.Context, conn *grpc.ClientConn) (*emend.WalkResult, error) {
	question := &emend.Question{Question: asked, Collection: collection}
	events, err := emend.NewOrchestratorServiceClient(conn).AskStream(ctx, &emend.AskStreamRequest{Question: question})
	if err != nil {
		return nil, err
	}
	for {
		message, err := events.Recv()
		if err != nil {
			return nil, err
		}
		switch event := message.Event.Event.(type) {
		case *emend.WalkEvent_StepFinished:
			step := event.StepFinished.Step
			fmt.Printf("  %d. %s: %s %s\n", step.Number, step.Node, step.Outcome, step.Summary)
		case *emend.WalkEvent_TextDelta: // not graded yet
			fmt.Println("  …", event.TextDelta.Text)
		case *emend.WalkEvent_SentenceRetracted:
			fmt.Println("  withdrawn:", event.SentenceRetracted.Sentence.Text)
		case *emend.WalkEvent_Finished:
			return event.Finished, nil
		}
	}
}

// endregion

// region errors

// Explained is what an error says besides its message: reason, what that is about, wrong fields, when to come back.
type Explained struct {
	Code       codes.Code
	Reason     string // an ErrorReason without its prefix
	Resource   string
	Fields     map[string]string
	RetryAfter time.Duration
}

func explain(err error) Explained {
	answer := status.Convert(err)
	said := Explained{Code: answer.Code(), Fields: map[string]string{}}
	for _, detail := range answer.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			said.Reason = detail.Reason
		case *errdetails.ResourceInfo:
			said.Resource = detail.ResourceType + " " + detail.ResourceName
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				said.Fields[violation.Field] = violation.Description
			}
		case *errdetails.RetryInfo:
			said.RetryAfter = detail.RetryDelay.AsDuration()
		}
	}
	return said
}

// endregion

// refused is what is said of a question that is refused.
func refused(ctx context.Context, conn *grpc.ClientConn, question *emend.Question) (Explained, error) {
	_, err := emend.NewOrchestratorServiceClient(conn).Ask(ctx, &emend.AskRequest{Question: question})
	return explain(err), nil
}

// tooManyStreams is an error that says when to try again: a retriever takes so many streams of documents and no more.
func tooManyStreams(ctx context.Context, conn *grpc.ClientConn) (Explained, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for number := range 100 {
		stream, err := emend.NewRetrieverServiceClient(conn).Ingest(ctx)
		if err != nil {
			return explain(err), nil
		}
		document := &emend.Document{Id: fmt.Sprint("held-", number), Content: []byte("This stream stays open.")}
		// What is wrong is said by Recv.
		_ = stream.Send(&emend.IngestRequest{Collection: collection, Document: document})
		if _, err := stream.Recv(); err != nil {
			return explain(err), nil
		}
	}
	return Explained{}, errors.New("there is no end of streams")
}

// region deadline

// deadline is sent along and holds at every service: a walk ends before it with what it has.
func deadline(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	question := &emend.Question{Question: asked, Collection: collection}
	answer, err := emend.NewOrchestratorServiceClient(conn).Ask(ctx, &emend.AskRequest{Question: question})
	if status.Code(err) == codes.DeadlineExceeded {
		return codes.DeadlineExceeded.String(), nil
	}
	return answer.GetResult().GetStatus().String(), err
}

// endregion

// region cancel

// cancelled has seen enough and cancels: the walk stops at every service.
func cancelled(ctx context.Context, conn *grpc.ClientConn) (codes.Code, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	question := &emend.Question{Question: asked, Collection: collection}
	events, err := emend.NewOrchestratorServiceClient(conn).AskStream(ctx, &emend.AskStreamRequest{Question: question})
	if err != nil {
		return codes.Unknown, err
	}
	if _, err := events.Recv(); err != nil {
		return codes.Unknown, err
	}
	cancel()
	for err == nil {
		_, err = events.Recv()
	}
	return status.Code(err), nil
}

// endregion

// region balance

// balance calls over several addresses. Here each has a collection of its own, which shows who answered.
func balance(ctx context.Context, addresses []string, access Access) (map[string]bool, error) {
	// A name with several addresses needs none of this: dns:///NAME:PORT.
	list := manual.NewBuilderWithScheme("list")
	state := resolver.State{}
	for _, address := range addresses {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}})
	}
	list.InitialState(state)
	// The name is the one that a certificate has to be for.
	conn, err := connect("list:///"+addresses[0], access, grpc.WithResolvers(list))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	seen := map[string]bool{}
	for len(seen) < len(addresses) { // until all connections stand
		request := &emend.ListCollectionsRequest{}
		answer, err := emend.NewRetrieverServiceClient(conn).ListCollections(ctx, request, grpc.WaitForReady(true))
		if err != nil {
			return seen, err
		}
		var names []string
		for _, collection := range answer.Collections {
			names = append(names, collection.Name)
		}
		seen[strings.Join(names, " ")] = true
	}
	return seen, nil
}

// endregion

// region trace

// trace makes the walk a part of the caller's trace by a W3C traceparent. OpenTelemetry's otelgrpc sends it.
func trace(ctx context.Context, conn *grpc.ClientConn) (string, string, error) {
	random := make([]byte, 24)
	rand.Read(random)
	traceID, spanID := hex.EncodeToString(random[:16]), hex.EncodeToString(random[16:])
	ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", "00-"+traceID+"-"+spanID+"-01")
	question := &emend.Question{Question: asked, Collection: collection}
	answer, err := emend.NewOrchestratorServiceClient(conn).Ask(ctx, &emend.AskRequest{Question: question})
	return traceID, answer.GetResult().GetTraceId(), err
}

// endregion

// run makes all the calls and says of each what it returned; the error has all that was not right.
func run() error {
	orchestrator := flag.String("orchestrator", "", "`HOST:PORT`")
	retriever := flag.String("retriever", "", "`HOST:PORT`")
	slow := flag.String("slow", "", "`HOST:PORT` of an orchestrator that never has an answer")
	balanced := flag.String("balance", "", "`HOST:PORT,…` of retrievers with different collections")
	ca := flag.String("ca", "", "PEM `FILE` of the authority; without it nothing is encrypted")
	keyFile := flag.String("api-key-file", "", "`FILE` of the API key")
	flag.Parse()
	access := Access{CA: *ca}
	if *keyFile != "" {
		key, err := os.ReadFile(*keyFile)
		if err != nil {
			return err
		}
		access.Key = strings.TrimSpace(string(key))
	}
	var conns []*grpc.ClientConn
	for _, target := range []string{*orchestrator, *retriever, *slow} {
		conn, err := connect(target, access)
		if err != nil {
			return err
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	asks, stores, late := conns[0], conns[1], conns[2]

	ctx, done := context.WithTimeout(context.Background(), 2*time.Minute)
	defer done()
	var failed []error
	check := func(name string, value any, err error, right func() bool) {
		fmt.Printf("%s: %.300v\n", name, value)
		if err != nil || !right() {
			failed = append(failed, fmt.Errorf("FAILED %s: %v: %v", name, value, err))
		}
	}

	serving, err := health(ctx, asks, "emend.v1.OrchestratorService")
	check("health", serving, err, func() bool { return serving == "SERVING" })
	stored, err := ingest(ctx, stores)
	check("ingest", stored, err, func() bool {
		return len(stored) == 2 && stored["leave.md"] == emend.IngestStatus_INGEST_STATUS_INGESTED
	})
	result, err := ask(ctx, asks)
	check("ask", result.GetStatus(), err, func() bool { return strings.Contains(result.Answer, "25 days") })
	result, err = stream(ctx, asks)
	check("stream", result.GetStatus(), err, func() bool { return strings.Contains(result.Answer, "25 days") })
	said, err := refused(ctx, asks, &emend.Question{Options: map[string]float64{"no_such_option": 1}})
	check("errors", said, err, func() bool {
		return said.Code == codes.InvalidArgument && said.Reason == "FIELD_INVALID" && said.Fields["question.question"] != ""
	})
	said, err = refused(ctx, asks, &emend.Question{Question: asked, Collection: "absent"})
	check("unknown", said, err, func() bool {
		return said.Reason == "COLLECTION_NOT_FOUND" && said.Resource == "collection absent"
	})
	said, err = tooManyStreams(ctx, stores)
	check("retry", said, err, func() bool { return said.Code == codes.ResourceExhausted && said.RetryAfter > 0 })
	end, err := deadline(ctx, late)
	check("deadline", end, err, func() bool { return end == "WALK_STATUS_FAILED" })
	code, err := cancelled(ctx, late)
	check("cancel", code, err, func() bool { return code == codes.Canceled })
	seen, err := balance(ctx, strings.Split(*balanced, ","), access)
	check("balance", seen, err, func() bool { return len(seen) == 2 })
	sent, told, err := trace(ctx, asks)
	check("trace", told, err, func() bool { return sent == told })
	return errors.Join(failed...)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
