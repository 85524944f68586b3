//! Passes requests over HTTP on to another server, and carries faults out on them and on its answers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, Version, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, BodyStream, Empty, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use scenario::spec::sections::ToolMode;

use crate::faults::{Decision, ToolFaults};
use crate::hop_by_hop::remove_hop_by_hop;
use crate::http_mock::{Answer, AnswerMemory, Applied, RequestKey, apply, instead, other_path};
use crate::listener::{Broken, Reset};
use crate::memory_budget::{Room, Share};

/// Largest answer that a fault changes: 16 MiB. A larger one passes as it is.
const CHANGED_BYTES: usize = 16 * 1024 * 1024;
/// Largest answer that is remembered: 1 MiB.
const REMEMBERED_BYTES: u64 = 1024 * 1024;
/// Memory limit of all answers under way: 128 MiB.
const UNDER_WAY_BYTES: usize = 128 * 1024 * 1024;
/// Timeout for the rest of a request that a fault answers.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Broken>;
/// The body of a request that is passed on.
pub(crate) type Sent = UnsyncBoxBody<Bytes, hyper::Error>;

/// A server that requests are passed on to.
pub(crate) trait Server: Sync {
    /// Reason why there is no answer.
    type Failure: From<Broken> + Send;

    /// Sends a request, and waits for the head of its answer.
    fn send(&self, request: Request<Sent>) -> impl Future<Output = Result<Response<Incoming>, Self::Failure>> + Send;
}

/// Requests that are passed on, and the answers that faults remember.
#[derive(Debug)]
pub(crate) struct FaultedRequests {
    memory: Mutex<AnswerMemory>,
    room: Room,
}

/// Outcome of a request: the answer as it comes, or one that a fault gave.
enum Outcome {
    Passed(Response<Body>),
    Answered(Answer),
}

impl Default for FaultedRequests {
    fn default() -> Self {
        Self { memory: Mutex::default(), room: Room::new(UNDER_WAY_BYTES) }
    }
}

impl FaultedRequests {
    /// Answers a request: with the answer of the server, or as a fault has it.
    pub(crate) async fn answer<To: Server>(
        &self,
        request: Request<Sent>,
        faults: Option<&ToolFaults>,
        server: &To,
        reset: Reset,
    ) -> Result<Response<Body>, To::Failure> {
        let Some(faults) = faults else { return pass(request, server).await };
        let (method, version) = (request.method().clone(), request.version());
        let decision = decide(faults, &request);
        let mut share = self.room.share();
        let outcome = match decision.fault.as_ref().filter(|fault| !fault.mark.reached) {
            Some(fault) => {
                drain(request.into_body()).await;
                Outcome::Answered(instead(fault))
            }
            None => self.reach(request, faults, server, &decision, &mut share).await?,
        };
        match outcome {
            Outcome::Passed(response) => {
                tokio::time::sleep(decision.delay).await;
                Ok(response)
            }
            Outcome::Answered(answer) => {
                let answer = answer.delayed(decision.delay);
                let delivered = answer.deliver(&method, version, share, reset).await;
                Ok(delivered.map(|response| response.map(|body| body.boxed_unsync()))?)
            }
        }
    }

    /// Memory for an answer that does not come from the server.
    pub(crate) fn share(&self) -> Share {
        self.room.share()
    }

    /// Passes a request on, and carries out its fault on the answer.
    async fn reach<To: Server>(
        &self,
        request: Request<Sent>,
        faults: &ToolFaults,
        server: &To,
        decision: &Decision<ToolMode>,
        share: &mut Share,
    ) -> Result<Outcome, To::Failure> {
        let uri = request.uri();
        let key = RequestKey::of_path(request.method().as_str(), uri.path(), uri.query().unwrap_or_default());
        let key = key.at(&faults.service);
        let mut request = prepared(request);
        if decision.fault.is_some() || faults.remembers {
            // A compressed answer could not be changed.
            request.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let headers = request.headers().clone();
        let other = other(&headers, server, decision, share).await;
        let response = server.send(request).await?;
        let is_small = response.body().size_hint().exact().is_some_and(|size| size <= REMEMBERED_BYTES);
        if decision.fault.is_none() && !(faults.remembers && is_small) {
            return Ok(Outcome::Passed(passed(response)));
        }
        let answer = match collect(response, share).await {
            Ok(answer) => answer,
            // It is too large to be changed.
            Err(passed) => {
                take_back(faults, decision);
                return Ok(Outcome::Passed(passed?));
            }
        };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match apply(decision, &answer, &key, other, &mut memory) {
            Applied::Changed(changed) => Ok(Outcome::Answered(changed)),
            Applied::AsItIs => Ok(Outcome::Answered(answer)),
            Applied::WithoutEffect => {
                take_back(faults, decision);
                Ok(Outcome::Answered(answer))
            }
        }
    }
}

/// Passes a request on that no fault is about.
async fn pass<To: Server>(request: Request<Sent>, server: &To) -> Result<Response<Body>, To::Failure> {
    server.send(prepared(request)).await.map(passed)
}

fn passed(response: Response<Incoming>) -> Response<Body> {
    response.map(|body| body.map_err(|_| Broken).boxed_unsync())
}

fn decide(faults: &ToolFaults, request: &Request<Sent>) -> Decision<ToolMode> {
    let uri = request.uri();
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or(&faults.service);
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    faults.request(request.method().as_str(), uri.path(), &format!("http://{host}{target}"))
}

fn take_back(faults: &ToolFaults, decision: &Decision<ToolMode>) {
    if let Some(fault) = &decision.fault {
        faults.take_back(fault);
    }
}

/// A request as it is passed on.
fn prepared(request: Request<Sent>) -> Request<Sent> {
    let (mut head, body) = request.into_parts();
    remove_hop_by_hop(&mut head.headers);
    head.version = Version::HTTP_11;
    head.uri = head.uri.path_and_query().map_or_else(|| Uri::from_static("/"), |target| Uri::from(target.clone()));
    Request::from_parts(head, body)
}

/// The answer to `from` of `wrong_entity`, which is asked for with the headers of the request.
async fn other<To: Server>(
    headers: &HeaderMap,
    server: &To,
    decision: &Decision<ToolMode>,
    share: &mut Share,
) -> Option<Answer> {
    let path = other_path(decision)?;
    let mut request = Request::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *request.uri_mut() = path.parse().ok()?;
    *request.method_mut() = Method::GET;
    *request.headers_mut() = headers.clone();
    for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::TRANSFER_ENCODING] {
        request.headers_mut().remove(name);
    }
    collect(server.send(request).await.ok()?, share).await.ok()
}

/// Reads the rest of a request that nobody wants.
async fn drain(mut body: Sent) {
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    let _ = tokio::time::timeout(BODY_WAIT, rest).await;
}

/// Reads an answer to its end. One that is too large is given back as it comes.
async fn collect(response: Response<Incoming>, share: &mut Share) -> Result<Answer, Result<Response<Body>, Broken>> {
    let (head, mut body) = response.into_parts();
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Err(Broken))?;
        let Some(part) = frame.data_ref() else { continue };
        read.extend_from_slice(part);
        if read.len() > CHANGED_BYTES || !share.grow(part.len()) {
            let rest = BodyStream::new(body).map(|frame| frame.map_err(|_| Broken));
            let whole = stream::iter([Ok(Frame::data(read.into()))]).chain(rest);
            return Err(Ok(Response::from_parts(head, StreamBody::new(whole).boxed_unsync())));
        }
    }
    Ok(Answer::of_service(head.status, head.headers, read.into()))
}
