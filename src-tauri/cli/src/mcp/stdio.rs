//! The two pipes of an MCP server: each line is read strictly before the SDK sees it, and what is no message is answered here.
//!
//! Whole lines go out, ours and the SDK's, through one writer, so that neither can fall into the other's middle.

use super::strict::{self, Checked};
use countersign_engine::intake::Intake;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

/// What is on its way between us and the SDK, in bytes.
const BUFFER: usize = 64 * 1024;
/// Lines that wait to be written.
const WAITING: usize = 16;
/// What the record calls a line that named no tool and no method.
const A_LINE: &str = "a line";

/// The SDK's two ends, and the tasks that serve them.
pub(super) struct Pipes {
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

impl Pipes {
    pub(super) fn between(
        from: impl AsyncRead + Send + Unpin + 'static,
        to: impl AsyncWrite + Send + Unpin + 'static,
        intake: Intake,
        source: String,
    ) -> (DuplexStream, DuplexStream, Pipes) {
        let (into_sdk, sdk_reads) = tokio::io::duplex(BUFFER);
        let (sdk_writes, out_of_sdk) = tokio::io::duplex(BUFFER);
        let (say, said) = mpsc::channel(WAITING);
        let reading = tokio::spawn(read(BufReader::new(from), into_sdk, say.clone(), intake, source));
        tokio::spawn(answers(BufReader::new(out_of_sdk), say));
        let writing = tokio::spawn(write(said, to));
        (sdk_reads, sdk_writes, Pipes { reading, writing })
    }

    /// Ends the reading, which may wait for a line that never comes, and sees the last answer off.
    pub(super) async fn end(self) {
        self.reading.abort();
        // It ends with the SDK's output, and a client that has gone takes no more.
        let _ = self.writing.await;
    }
}

/// Either side that ends, ends both: dropping `to` is the end of the SDK's input.
async fn read(
    mut from: BufReader<impl AsyncRead + Unpin>,
    mut to: DuplexStream,
    say: Sender<Vec<u8>>,
    intake: Intake,
    source: String,
) {
    while let Ok(Some(line)) = strict::next(&mut from).await {
        match strict::checked(line) {
            Checked::Blank => {}
            Checked::Message(line) => {
                if to.write_all(&line).await.is_err() {
                    return;
                }
            }
            Checked::Refused { answer, why } => {
                super::record(&intake, &source, A_LINE, &why).await;
                if say.send(answer).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn answers(mut from: BufReader<DuplexStream>, say: Sender<Vec<u8>>) {
    loop {
        let mut line = Vec::new();
        match from.read_until(b'\n', &mut line).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        if say.send(line).await.is_err() {
            return;
        }
    }
}

async fn write(mut said: Receiver<Vec<u8>>, mut to: impl AsyncWrite + Unpin) {
    let mut all = async || -> io::Result<()> {
        while let Some(line) = said.recv().await {
            to.write_all(&line).await?;
            to.flush().await?;
        }
        Ok(())
    };
    if all().await.is_err() {
        tracing::debug!("the client takes no more answers");
    }
}
