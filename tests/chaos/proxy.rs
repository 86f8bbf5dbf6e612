//! What stands between two services and breaks the way.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::sleep,
};

/// What it does with what passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Hands it on.
    Open,
    /// Takes it, and hands nothing on.
    Swallows,
    /// Hands it on late.
    Delays,
    /// Hands on half of what the server says, and breaks off.
    Cuts,
    /// Says something else in place of the server.
    Garbles,
}

/// How late.
const DELAY: Duration = Duration::from_millis(400);

/// A port behind which a service is, for as long as the way is open.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    way: watch::Sender<Way>,
}

impl Proxy {
    pub(crate) async fn start(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let way = watch::Sender::new(Way::Open);
        let open = way.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let way = open.clone();
                tokio::spawn(async move {
                    let Ok(server) = TcpStream::connect(service).await else {
                        return;
                    };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    // The end of one direction ends the connection.
                    tokio::select! {
                        () = pass(from_client, to_server, way.clone(), false) => {}
                        () = pass(from_server, to_client, way, true) => {}
                    }
                });
            }
        });
        Self { address, way }
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

/// Hands on what one side says, until it ends or the way breaks.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: watch::Receiver<Way>, by_server: bool) {
    let mut bytes = vec![0; 16 * 1024];
    let mut swallowed = false;
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let now = *way.borrow();
        let said = match now {
            Way::Swallows => {
                swallowed = true;
                continue;
            }
            // What was swallowed is missing now.
            _ if swallowed => return,
            Way::Cuts if by_server => &bytes[..read / 2],
            Way::Garbles if by_server => &b"HTTP/1.1 418 I'm a teapot\r\n\r\n\xff\xff\xff\xff"[..],
            _ => &bytes[..read],
        };
        if now == Way::Delays {
            sleep(DELAY).await;
        }
        if to.write_all(said).await.is_err() || now == Way::Cuts && by_server {
            return;
        }
    }
}
