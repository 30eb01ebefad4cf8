//! The message itself: DATA and BDAT, and the moment at which the server takes it.

use super::parse::{LINE_LIMIT, Refusal, flaw};
use super::{BAD_SEQUENCE, BAD_SYNTAX, Session};
use crate::faults::{Due, SmtpStage};
use crate::line::{Gone, Line};
use crate::signals::Point;

/// No chunk may be bigger than this; the sandbox keeps everything in memory.
const CHUNK_LIMIT: u64 = 80 * 1024 * 1024;
/// How much of a chunk is read at once, so that a fault in the body strikes where it should.
const STEP: usize = 4096;

impl Session {
    pub(super) async fn data(&mut self, rest: &str) -> Result<(), Gone> {
        if !rest.is_empty() {
            return self.say(BAD_SYNTAX).await;
        }
        // RFC 3030 2: DATA after BDAT in one transaction is out of sequence.
        if self.envelope.is_none() || self.chunks.is_some() {
            return self.say(BAD_SEQUENCE).await;
        }
        if self.envelope.as_ref().is_some_and(|envelope| envelope.rcpt_to.is_empty()) {
            return self.say((554, "5.5.1", "no valid recipients")).await;
        }
        let code = self.answer(&SmtpStage::Data, &[], (354, "", "end data with <CR><LF>.<CR><LF>")).await?;
        if code != 354 {
            return Ok(());
        }
        self.world.signals.reached(Point::DataStarted);
        let (bytes, flaw) = self.read_data().await?;
        self.world.signals.reached(Point::BodyReceived);
        self.end(bytes, flaw).await
    }

    /// Everything up to the final dot, unstuffed, and what was wrong with its lines.
    async fn read_data(&mut self) -> Result<(Vec<u8>, Option<Refusal>), Gone> {
        let mut fault = self.body_fault();
        let mut bytes = Vec::new();
        let mut wrong = None;
        // A dot ends the message only after a CRLF; one that follows a bare LF is an attempt at smuggling.
        let mut after_crlf = true;
        loop {
            // A stuffed dot may make a line one byte longer.
            let line = self.wire.line(LINE_LIMIT + 3).await?;
            match line {
                Line::Good(line) if line == b"." && after_crlf => break,
                Line::Good(line) => {
                    let line = line.strip_prefix(b".").unwrap_or(&line);
                    bytes.extend_from_slice(line);
                    bytes.extend_from_slice(b"\r\n");
                    after_crlf = true;
                }
                Line::Bad(why) => {
                    wrong = Some((554, "5.6.0", why));
                    after_crlf = false;
                }
            }
            self.strike(&mut fault, bytes.len()).await?;
        }
        self.strike(&mut fault, usize::MAX).await?;
        Ok((bytes, wrong))
    }

    pub(super) async fn bdat(&mut self, rest: &str) -> Result<(), Gone> {
        let mut words = rest.split(' ');
        let size = words.next().and_then(|size| size.parse::<u64>().ok());
        let last = match (words.next(), words.next()) {
            (None, None) => Some(false),
            (Some(word), None) if word.eq_ignore_ascii_case("LAST") => Some(true),
            _ => None,
        };
        let (Some(size), Some(last)) = (size, last) else { return self.say(BAD_SYNTAX).await };
        if size > CHUNK_LIMIT {
            self.say((552, "5.3.4", "chunk too big")).await?;
            return Err(self.wire.close().await);
        }
        let first = self.chunks.is_none();
        let refusal = match &self.envelope {
            _ if !self.features.chunking => Some((502, "5.5.1", "CHUNKING is not offered")),
            None => Some(BAD_SEQUENCE),
            Some(envelope) if envelope.rcpt_to.is_empty() => Some((554, "5.5.1", "no valid recipients")),
            Some(_) => None,
        };
        if refusal.is_none() && first {
            if let Some(due) = self.fault(&SmtpStage::Data, &[]) {
                self.wire.exact(size as usize).await?;
                self.forget();
                return self.misbehave(due.answer, 250, "250 2.0.0 chunk ok\r\n").await.map(drop);
            }
            self.world.signals.reached(Point::DataStarted);
        }
        // RFC 3030 4.2: the octets of a refused chunk are read and thrown away.
        let mut chunk = Vec::new();
        let mut fault = if refusal.is_none() && (size > 0 || last) { self.body_fault() } else { None };
        while (chunk.len() as u64) < size {
            let left = (size as usize) - chunk.len();
            chunk.extend(self.wire.some(left.min(STEP)).await?);
            self.strike(&mut fault, chunk.len()).await?;
        }
        self.strike(&mut fault, usize::MAX).await?;
        if let Some(refusal) = refusal {
            return self.say(refusal).await;
        }
        self.chunks.get_or_insert_default().extend(chunk);
        if let Some(envelope) = &mut self.envelope {
            envelope.chunked = true;
        }
        if !last {
            self.world.signals.reached(Point::BodyReceived);
            return self.say((250, "2.0.0", "chunk ok")).await;
        }
        if first {
            self.world.signals.reached(Point::BodyReceived);
        }
        let bytes = self.chunks.take().unwrap_or_default();
        self.end(bytes, None).await
    }

    fn body_fault(&self) -> Option<(usize, Due)> {
        let fault = self.world.script.body();
        if fault.is_some() {
            self.world.signals.reached(Point::Misbehaved);
        }
        fault
    }

    /// Lets a fault in the body happen once enough bytes are here.
    async fn strike(&mut self, fault: &mut Option<(usize, Due)>, have: usize) -> Result<(), Gone> {
        if fault.as_ref().is_some_and(|(after, _)| have >= *after)
            && let Some((_, due)) = fault.take()
        {
            self.out_of_turn = true;
            self.misbehave(due.answer, 0, "").await?;
        }
        Ok(())
    }

    /// The final dot, or the last BDAT, is here.
    async fn end(&mut self, bytes: Vec<u8>, line_flaw: Option<Refusal>) -> Result<(), Gone> {
        self.world.signals.reached(Point::CommitReceived);
        let Some(envelope) = self.envelope.take() else { return self.say(BAD_SEQUENCE).await };
        self.chunks = None;
        if self.out_of_step() {
            self.say((554, "5.5.0", "command sent before the answer to the last one")).await?;
            return Err(self.wire.close().await);
        }
        let limit = self.features.size;
        if let Some(refusal) = line_flaw.or_else(|| flaw(&bytes, envelope.eight_bit, envelope.smtputf8, limit)) {
            return self.say(refusal).await;
        }
        let mut who: Vec<&str> = envelope.rcpt_to.iter().map(String::as_str).collect();
        who.push(&envelope.mail_from);
        let due = self.fault(&SmtpStage::End, &who);
        let taken = due.as_ref().is_none_or(|due| due.taken);
        let mut reply = (250, "250 2.0.0 ok\r\n".to_owned());
        if taken {
            reply = match self.world.accept(envelope, bytes) {
                Some(queue_id) => (250, format!("250 2.0.0 ok: queued as {queue_id}\r\n")),
                None => (452, "452 4.3.1 cannot keep the message\r\n".to_owned()),
            };
        }
        match due {
            Some(due) => drop(self.misbehave(due.answer, reply.0, &reply.1).await?),
            None => self.wire.write(reply.1.as_bytes()).await?,
        }
        self.world.signals.reached(Point::Answered);
        Ok(())
    }
}
