use super::*;

async fn send(server: &HttpServer, request: &str) -> TcpStream {
    let address = server.url().trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

async fn said(mut socket: TcpStream) -> String {
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn requests_are_kept_and_answered_in_order() {
    let answers = ["first", "second"].map(|body| HttpAnswer::response("200 OK", "x: y\r\n", body));
    let server = HttpServer::replying(answers.to_vec()).await;
    let request = "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{\"a\":\"é\"}";
    // The length counts bytes, and é has two.
    let request = request.replace("Length: 9", "Length: 10");
    let whole = said(send(&server, &request).await).await;
    assert_eq!(
        whole,
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\nx: y\r\n\r\nfirst"
    );
    assert!(
        said(send(&server, "GET / HTTP/1.1\r\n\r\n").await)
            .await
            .ends_with("second")
    );
    let requests = server.requests();
    assert_eq!(requests[0].json()["a"], "é");
    assert!(requests[1].head.starts_with("GET /") && requests[1].json().is_null());
}

#[tokio::test]
async fn callers_wait_at_a_shut_gate_and_may_leave() {
    let server = HttpServer::start(|_, _| HttpAnswer::response("200 OK", "", "in"))
        .await
        .shut();
    let request = "GET / HTTP/1.1\r\n\r\n";
    let (stays, leaves) = (send(&server, request).await, send(&server, request).await);
    server.wait_for(2).await;
    drop(leaves);
    server.wait_for(1).await;
    server.open();
    assert!(said(stays).await.ends_with("in"));
    assert_eq!((server.seen().requests, server.seen().most), (2, 2));
}
