//! A listening port that can be closed and opened again, and the connections taken on it.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::signals::Point;
use crate::world::World;

pub(crate) async fn bind(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Takes connections until told to stop, then ends them all. While told not to listen, the port is closed.
pub(crate) fn listen<F>(
    listener: TcpListener,
    world: Arc<World>,
    mut stopped: watch::Receiver<bool>,
    mut listening: watch::Receiver<bool>,
    serve: impl Fn(TcpStream, Arc<World>) -> F + Send + 'static,
) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        let mut open = Some(listener);
        let address = open.as_ref().and_then(|listener| listener.local_addr().ok());
        loop {
            let accept = async {
                match &open {
                    Some(listener) => listener.accept().await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                // An error means that the sender is gone, which is a stop as well.
                _ = stopped.wait_for(|stop| *stop) => Event::Stop,
                Ok(()) = listening.changed() => Event::Listen(*listening.borrow_and_update()),
                taken = accept => Event::Taken(taken.map(|(stream, _)| stream)),
                Some(_) = connections.join_next() => Event::Ended,
            };
            match event {
                Event::Stop => break,
                Event::Ended => {}
                Event::Listen(false) => {
                    if open.take().is_some() {
                        world.signals.reached(Point::WentDown);
                    }
                }
                Event::Listen(true) => match bind(address.map_or(0, |address| address.port())).await {
                    Ok((listener, _)) => {
                        open = Some(listener);
                        world.signals.reached(Point::CameBack);
                    }
                    Err(error) => tracing::error!(%error, "the sandbox cannot listen again on its old port"),
                },
                Event::Taken(Ok(stream)) => {
                    // Replies are small and awaited; they must not wait for more to come.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "no TCP_NODELAY");
                    }
                    connections.spawn(serve(stream, world.clone()));
                }
                Event::Taken(Err(error)) => tracing::warn!(%error, "the sandbox could not take a connection"),
            }
        }
        connections.shutdown().await;
    })
}

/// What happened to a listening server.
enum Event {
    Stop,
    /// A connection ended.
    Ended,
    Listen(bool),
    Taken(io::Result<TcpStream>),
}
