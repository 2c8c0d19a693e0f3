"""What became of a commit."""

from zuul_nodes.quickstart.failure import Failure

TIMEOUT = 180


class Builds:
    """:param API api: is asked about builds.
    :param Services services: are watched while waiting.
    :param weblogs: the directory where the logs of builds are published.
    """

    def __init__(self, api, services, weblogs):
        self.api = api
        self.services = services
        self.weblogs = weblogs

    def waitForStart(self, revision, job):
        """:param str revision: the hash of the commit.
        :param str job: the name of the job.
        :return: the build, as the REST API describes it."""
        return self.services.waitFor(
            lambda: self._lastAttempt(revision, job),
            f'the job {job} does not start', TIMEOUT, 'scheduler')

    def waitForEnd(self, revision, job):
        """Like waitForStart().

        :raises Failure: its result is not SUCCESS.
        """
        def ended():
            attempt = self._lastAttempt(revision, job)
            again = attempt['result'] in (None, 'RETRY')
            return None if again else attempt

        build = self.services.waitFor(
            ended, f'the job {job} does not end', TIMEOUT, 'executor')
        if build['result'] != 'SUCCESS':
            output = self.output(build)
            raise Failure(
                f'the result of the job {job} is {build["result"]}',
                output if output.exists()
                else self.services.logFile('executor'))
        return build

    def _lastAttempt(self, revision, job):
        # The newest comes first.
        return next((build for build in self.api.builds(job_name=job)
                     if build['ref']['newrev'] == revision), None)

    def output(self, build):
        """:return: the file that has what a build printed."""
        return self.weblogs / build['uuid'] / 'job-output.txt'

    def said(self, build):
        """:return: what the job's own playbook printed, a list of lines."""
        with open(self.output(build)) as output:
            lines = [line.rstrip().partition(' | ')[2] for line in output]
        begin, end = (
            next(number for number, line in enumerate(lines)
                 if line.startswith(mark))
            for mark in ('RUN START', 'RUN END'))
        return [line for line in lines[begin:end] if ' | ' in line]
